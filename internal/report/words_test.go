package report

import (
	"strings"
	"testing"

	"shakedown/internal/finding"
	"shakedown/internal/redact"
)

func TestDuration(t *testing.T) {
	for s, want := range map[float64]string{-1: "", 0: "0.0 s", 9.94: "9.9 s", 47.5: "48 s", 119: "119 s", 120: "2 min 00 s", 410.5: "6 min 50 s", 7200: "2 h 00 min", 8000: "2 h 13 min"} {
		if got := duration(s); got != want {
			t.Errorf("duration(%v) = %q, want %q", s, got, want)
		}
	}
}

func TestRankList(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "TP0": "TP0", "TP1 TP0 TP2": "TP0-2", "TP0 TP2": "TP0, TP2", "TP7 EP0 EP1 TP8 TP8": "EP0-1, TP7-8", "main TP0": "main, TP0", "0 1 2": "0-2", "TP99999999999999999999": "TP99999999999999999999",
	} {
		if got := rankList(strings.Fields(in)); got != want {
			t.Errorf("rankList(%s) = %q, want %q", in, got, want)
		}
	}
}

func TestShortModel(t *testing.T) {
	for in, want := range map[string]string{"acme/rocket": "acme/rocket", "rocket.gguf": "rocket.gguf", "/models/rocket": "rocket", "/m": "m", "./a/b/c": "c", "": ""} {
		if got := shortModel(in); got != want {
			t.Errorf("shortModel(%s) = %q, want %q", in, got, want)
		}
	}
}

func TestMessage(t *testing.T) {
	for in, want := range map[string]string{
		"[2026-02-19 00:19:10] WARNING server_args.py:1177: Set x":           "…Set x",
		"[2026-02-19 00:19:10 DP0 TP3] Load weight begin.":                   "…Load weight begin.",
		"(EngineCore_DP0 pid=1462) ERROR 03-10 07:38:43 [core.py:1006] boom": "…boom",
		"ValueError: too long":          "ValueError: too long",
		"INFO 03-10 07:38:43 [a.py:1] ": "…",
		"":                              "",
	} {
		if got := message(in); got != want {
			t.Errorf("message(%s) = %q, want %q", in, got, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	one := newPlaces([]string{"a/x.log"}, []string{"a/x.log"})
	two := newPlaces([]string{"a/x.log", "b/y.log"})
	same := newPlaces([]string{"a/x.log", "b/x.log"})
	for _, tt := range []struct {
		p    places
		file string
		line int
		want string
	}{
		{one, "a/x.log", 7, ":7"}, {one, "a/x.log", 0, ""}, {two, "a/x.log", 7, "x.log:7"}, {same, "a/x.log", 7, "a/x.log:7"}, {two, "", 7, ":7"},
		{two, "a/a-very-long-name-of-a-log-of-one-node.log", 7, "…me-of-a-log-of-one-node.log:7"},
	} {
		if got := tt.p.at(tt.file, tt.line); got != tt.want {
			t.Errorf("at(%s, %d) = %q, want %q", tt.file, tt.line, got, tt.want)
		}
	}
	if got := one.of(finding.Evidence{Kind: "config", File: "m/config.json"}); got != "config.json" {
		t.Errorf("a configuration file stands at %q", got)
	}
}

func TestLetters(t *testing.T) {
	for i, want := range map[int]string{0: "a", 25: "z", 26: "27"} {
		if got := letter(i); got != want {
			t.Errorf("letter(%d) = %q, want %q", i, got, want)
		}
	}
}

// TestActionsTakeTurns checks the order of remedies and that equal ones are
// offered once.
func TestActionsTakeTurns(t *testing.T) {
	remedy := func(title string) finding.Remedy { return finding.Remedy{Title: title, Script: title} }
	got := actions([]finding.FindingMsg{
		{ID: "A", Remedies: []finding.Remedy{remedy("a1"), remedy("both"), remedy("a3")}},
		{ID: "B", Remedies: []finding.Remedy{remedy("b1"), remedy("both")}},
	}, []finding.FindingMsg{{ID: "L", Remedies: []finding.Remedy{remedy("latent")}}})
	var words []string
	for _, a := range got {
		words = append(words, strings.TrimSpace(a.Letter+" "+a.Title+" "+a.For))
	}
	if s, want := strings.Join(words, "; "), "a a1 for 1; b b1 for 2; c latent; d both for 1, 2; e a3 for 1"; s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// TestRedacted checks that no format shows a secret, wherever it stands.
func TestRedacted(t *testing.T) {
	const token, key, owner, host = "hf_AbCdEfGhIjKlMnOpQrSt", "velvet-otter-9", "quillon", "gpu-farm-17"
	line := host + ":1:2 [0] NCCL INFO /home/" + owner + "/x " + token
	ms := []finding.Message{
		open(),
		&finding.LaunchMsg{N: 1, Files: []string{"/home/" + owner + "/a.log"}, Engine: "vllm", Outcome: finding.Failed, Model: "/home/" + owner + "/m",
			Command: []string{"vllm", "serve", "--api-key", key}, Facts: []finding.FactEntry{{Key: "hostname", Value: host}}},
		&finding.SymptomMsg{Launch: 1, Title: "symptom", Evidence: []finding.Evidence{log("a.log", 1, line)}},
		&finding.FindingMsg{Launch: 1, Rank: 1, ID: "X", Role: "cause", Confidence: finding.Proven, Title: "title " + token, Evidence: []finding.Evidence{log("a.log", 2, "api_key='"+key+"'")},
			Captures: []finding.Pair{{Name: "api_key", Value: key}},
			Remedies: []finding.Remedy{{Title: "r", Env: map[string]string{"HF_TOKEN": key}, Command: []string{"vllm", "--api-key=" + key}, Changes: []finding.Change{{Kind: "env", Name: "OPENAI_API_KEY", To: ptr(key)}}}}},
		&finding.SettingMsg{Launch: 1, Name: "api_key", Effective: key, ChosenBy: "model", Asked: finding.Asked{Known: true, Value: ptr(key)}},
		&finding.UnexplainedMsg{Launch: 1, Count: 1, Text: "error on " + host},
		&finding.EndMsg{Launches: 1},
	}
	for name, make := range formats {
		shown := render(t, make, Options{Full: true}, ms)
		hidden := render(t, make, Options{Full: true, Redact: redact.New(), Files: []string{"/home/" + owner + "/a.log"}}, ms)
		for _, secret := range []string{token, key, owner, host} {
			if strings.Contains(hidden, secret) {
				t.Errorf("%s shows %s:\n%s", name, secret, hidden)
			}
		}
		if !strings.Contains(shown, key) || !strings.Contains(shown, token) {
			t.Errorf("%s hides what nobody asked to hide", name)
		}
	}
	if k := ms[4].(*finding.SettingMsg); k.Effective != key {
		t.Error("a message was changed")
	}
}
