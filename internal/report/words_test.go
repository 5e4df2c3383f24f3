package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestActionsTakeTurns checks the order of remedies and that those that change
// the same are offered once.
func TestActionsTakeTurns(t *testing.T) {
	remedy := func(title string) finding.Remedy { return finding.Remedy{Title: title, Script: title} }
	setting := func(title, value string, decides ...string) finding.Remedy {
		return finding.Remedy{Title: title, Script: title, Decides: decides, Changes: []finding.Change{{Kind: "flag", Name: "--x", To: ptr(value)}}}
	}
	got := actions([]finding.FindingMsg{
		{ID: "A", Remedies: []finding.Remedy{remedy("a1"), remedy("both"), remedy("a3"), setting("x is 1", "1", "A")}},
		{ID: "B", Remedies: []finding.Remedy{remedy("b1"), remedy("both"), setting("x is 2", "2"), setting("x is one", "1", "B"), setting("x is two", "2", "A")}},
	}, []finding.FindingMsg{{ID: "L", Remedies: []finding.Remedy{remedy("latent")}}})
	var words []string
	for _, a := range got {
		words = append(words, strings.TrimSpace(a.Letter+" "+a.Title+" "+a.For))
	}
	want := "a a1 for 1; b b1 for 2; c latent; d both for 1, 2; e a3 for 1; f x is 2 decides 1, for 2; g x is 1 decides 1, 2"
	if s := strings.Join(words, "; "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// TestRemediesOfLatentFaults checks that a latent fault competes with no cause
// for what to do, and still is worth an action on a server that works.
func TestRemediesOfLatentFaults(t *testing.T) {
	fault := finding.FindingMsg{Launch: 1, ID: "L", Role: "latent", Remedies: []finding.Remedy{{Title: "repair", Changes: []finding.Change{{Kind: "env", Name: "X", To: ptr("1")}}}}}
	cause := finding.FindingMsg{Launch: 1, ID: "C", Role: "cause", Rank: 1}
	l := &launch{LaunchMsg: finding.LaunchMsg{Outcome: finding.Failed}, findings: []finding.FindingMsg{cause, fault}}
	if v := newView(l, nil); len(v.Actions) != 0 || cmp.Diff(v.Latent[0].Remedies, []string{"repair: X=1"}) != "" {
		t.Errorf("beside a cause: %+v, %q", v.Actions, v.Latent[0].Remedies)
	}
	l.Outcome = finding.OK
	if v := newView(l, nil); len(v.Actions) != 1 || v.Latent[0].Remedies != nil {
		t.Errorf("on a server that works: %+v, %q", v.Actions, v.Latent[0].Remedies)
	}
}

// TestCoverage checks that the counts of error lines add up.
func TestCoverage(t *testing.T) {
	cause := finding.FindingMsg{Role: "cause", Rank: 1, Count: 8, Evidence: []finding.Evidence{{Line: 50}}}
	unknown := func(line, n int) finding.UnexplainedMsg { return finding.UnexplainedMsg{Line: line, Count: n} }
	for _, tt := range []struct {
		errors, following int
		findings          []finding.FindingMsg
		unexplained       []finding.UnexplainedMsg
		want              string
	}{
		{0, 0, nil, nil, ""},
		{1, 1, nil, nil, "1 error line: 1 known, 0 not understood"},
		{9, 0, nil, []finding.UnexplainedMsg{unknown(1, 4), unknown(3, 7)}, "9 error lines: 0 known, 9 not understood"},
		{30, 30, []finding.FindingMsg{cause}, nil, "30 error lines: 30 follow from the cause, 0 not understood"},
		{20, 19, []finding.FindingMsg{cause}, nil, "20 error lines: 8 of the cause, 12 follow from it, 0 not understood"},
		{20, 10, []finding.FindingMsg{cause}, []finding.UnexplainedMsg{unknown(7, 1), unknown(60, 2)}, "20 error lines: 8 of the cause, 8 follow from it, 3 not understood, 1 more known"},
		{6, 5, []finding.FindingMsg{cause}, []finding.UnexplainedMsg{unknown(60, 5)}, "6 error lines: 1 of the cause, 0 follow from it, 5 not understood"},
	} {
		l := &launch{LaunchMsg: finding.LaunchMsg{Outcome: finding.Failed, ErrorLines: tt.errors, Following: tt.following}, findings: tt.findings, unexplained: tt.unexplained}
		if got := coverage(l); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestRow checks that the table of launches says what each launch's headline
// says.
func TestRow(t *testing.T) {
	for _, tt := range []struct{ headline, tone, want string }{
		{"FAILED after ready, before it answered a request", "bad", "FAILED after ready  likely: x"},
		{"FAILED before ready, in load", "bad", "FAILED  likely: x"},
		{"STOPPED without a trace, in load", "bad", "STOPPED without a trace  likely: x"},
		{"READY, with a latent fault", "warn", "READY, with a latent fault  likely: x"},
	} {
		v := view{Headline: tt.headline, Tone: tone(tt.tone), Latent: []suspect{{Word: "likely", Title: "x"}}}
		if got := newRow(v).What; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.headline, got, tt.want)
		}
	}
	if got := newRow(view{Headline: "HEALTHY"}).What; got != "HEALTHY" {
		t.Errorf("a healthy launch is %q", got)
	}
}

// TestNotIt checks which harmless lines a short report names.
func TestNotIt(t *testing.T) {
	harmless := func(line int, text string) finding.Message {
		return &finding.NotItMsg{Launch: 1, ID: "X", Title: "title of " + text, Evidence: []finding.Evidence{log("a.log", line, text)}}
	}
	stream := func(outcome finding.Outcome, ms ...finding.Message) []finding.Message {
		head := []finding.Message{
			open(),
			&finding.LaunchMsg{N: 1, Files: []string{"a.log"}, Outcome: outcome, FirstLine: 1, LastLine: 900},
			&finding.SymptomMsg{Launch: 1, Title: "symptom", Evidence: []finding.Evidence{log("a.log", 800, "RuntimeError: it ended")}},
			&finding.FindingMsg{Launch: 1, Rank: 1, ID: "C", Role: "cause", Confidence: finding.Proven, Title: "cause", Evidence: []finding.Evidence{log("a.log", 500, "ValueError: why")}},
		}
		return append(append(head, ms...), &finding.EndMsg{Launches: 1})
	}
	for _, tt := range []struct {
		name    string
		outcome finding.Outcome
		line    int
		text    string
		shown   bool
	}{
		{"near the symptom", finding.Failed, 790, "Error: late", true},
		{"near the cause", finding.Failed, 540, "it passed", true},
		{"far away", finding.Failed, 600, "Error: late", false},
		{"quoted as the symptom", finding.Failed, 800, "RuntimeError: it ended", false},
		{"a source line", finding.Failed, 799, "  warnings.warn(", false},
		{"an advice", finding.Failed, 799, "WARNING You are sending unauthenticated requests to the HF Hub", false},
		{"a warning that looks bad", finding.Failed, 799, "WARNING a probe failed", true},
		{"of a server that works", finding.OK, 799, "Error: late", false},
	} {
		ms := stream(tt.outcome, harmless(tt.line, tt.text))
		out := render(t, NewText, Options{}, ms)
		if shown := strings.Contains(out, "title of"); shown != tt.shown || shown != strings.Contains(out, "NOT IT") {
			t.Errorf("%s: shown %v:\n%s", tt.name, shown, out)
		}
		if counted := strings.Contains(out, "all evidence, 1 harmless line\n"); counted == tt.shown {
			t.Errorf("%s: counted as hidden %v", tt.name, counted)
		}
		if full := render(t, NewText, Options{Full: true}, ms); !strings.Contains(full, "title of") {
			t.Errorf("%s: the full report lacks it", tt.name)
		}
	}
}

// TestCommandHint checks that a remedy without a whole command says how to get
// one, once, and only when the command is not known.
func TestCommandHint(t *testing.T) {
	change := func(name string) finding.Remedy {
		return finding.Remedy{Title: name, Changes: []finding.Change{{Kind: "flag", Name: name, To: ptr("1")}}}
	}
	stream := func(command ...string) []finding.Message {
		return []finding.Message{
			open(),
			&finding.LaunchMsg{N: 1, Outcome: finding.Failed, Command: command},
			&finding.FindingMsg{Launch: 1, Rank: 1, ID: "C", Role: "cause", Remedies: []finding.Remedy{change("--a"), change("--b")}},
			&finding.EndMsg{Launches: 1},
		}
	}
	if n := strings.Count(render(t, NewText, Options{}, stream()), "--cmd FILE"); n != 1 {
		t.Errorf("said %d times", n)
	}
	if n := strings.Count(render(t, NewText, Options{}, stream("vllm", "serve")), "--cmd FILE"); n != 0 {
		t.Errorf("said %d times although the command is known", n)
	}
}

// TestQuoteOnce checks that the page quotes a line once in each launch.
func TestQuoteOnce(t *testing.T) {
	const line = "torch.OutOfMemoryError: CUDA out of memory"
	ms := []finding.Message{
		open(),
		&finding.LaunchMsg{N: 1, Outcome: finding.Failed},
		&finding.SymptomMsg{Launch: 1, Title: "symptom", Evidence: []finding.Evidence{log("a.log", 8, line)}},
		&finding.FindingMsg{Launch: 1, Rank: 1, ID: "C", Role: "cause", Evidence: []finding.Evidence{log("a.log", 8, line), log("a.log", 9, "[2026-03-01 10:00:00 TP1] "+line)}},
		&finding.EndMsg{Launches: 1},
	}
	out := render(t, NewHTML, Options{}, ms)
	if n := strings.Count(out, "<pre><span class=\"at\">"); n != 1 || !strings.Contains(out, ">:8, :9 as quoted above<") {
		t.Errorf("quoted %d times:\n%s", n, out)
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

// TestPredictedWords: a value that the engine's own rules do not give stands
// first and says so; one that they give says that it was predictable.
func TestPredictedWords(t *testing.T) {
	var v view
	v.addSettings([]finding.SettingMsg{
		{Name: "page_size", Effective: "64", ChosenBy: "model", Predicted: "64", Asked: finding.Asked{Known: true}},
		{Name: "kv_cache_dtype", Effective: "bfloat16", ChosenBy: "user", Predicted: "fp8_e4m3", Contradicts: true, Asked: finding.Asked{Known: true}},
	}, newPlaces(nil))
	if len(v.Chosen) != 2 || v.Chosen[0].Name != "kv_cache_dtype" || !strings.Contains(v.Chosen[0].Sentence, "the rules of this release give fp8_e4m3") {
		t.Errorf("%+v", v.Chosen)
	}
	if !strings.Contains(v.Chosen[1].Sentence, "predictable before the launch") {
		t.Errorf("%+v", v.Chosen[1])
	}
}

func TestInSentence(t *testing.T) {
	for in, want := range map[string]string{
		"The first backend": "the first backend", "LlamaForCausalLM as a model": "LlamaForCausalLM as a model",
		"GPUs with 70 GiB": "GPUs with 70 GiB", "by the memory": "by the memory", "": "", "SM100 runs": "SM100 runs",
	} {
		if got := inSentence(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestBranchLabel: what is shown of a name can be given to --why.
func TestBranchLabel(t *testing.T) {
	for name, want := range map[string]string{
		"scheduler.max_num_batched_tokens": "max_num_batched_tokens", "model.dtype": "model.dtype",
	} {
		if got := (branch{Name: name}).label(); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
