package report

import (
	"encoding/xml"
	"io"
	"maps"
	"reflect"
	"strings"
	"testing"

	"shakedown/internal/finding"
	"shakedown/internal/redact"
	"shakedown/internal/term"
)

// Runs against living servers, made by hand in the shape in which prober makes
// them.
var runs = map[string][]finding.Message{
	"probe-wrong":       wrongServer(),
	"probe-right":       rightServer(),
	"probe-open":        openServer(),
	"probe-unreachable": unreachableServer(),
}

func probedEndpoint() *finding.EndpointMsg {
	return &finding.EndpointMsg{
		URL: "http://10.1.2.3:30000", Engine: "sglang", EngineVersion: "0.5.9", Model: "glm-5", Root: "/models/GLM-5-NVFP4", Level: "default",
		Bound: finding.Traffic{Requests: 45, PromptTokens: 12000, AnswerTokens: 1800, Together: 8, Seconds: 90},
		Facts: []finding.FactEntry{
			{Key: "context", Value: "202752", Unit: "tokens", File: "/v1/models"}, {Key: "KV cache", Value: "370752", Unit: "tokens", File: "/get_server_info"},
			{Key: "page", Value: "64", Unit: "tokens", File: "/get_server_info"},
		},
		Notes: []string{"/metrics: 404, so its counters are not compared"},
	}
}

func exchange(n int, id, label, request, answer string) *finding.ExchangeMsg {
	return &finding.ExchangeMsg{N: n, Probe: id, Label: label, Method: "POST", Path: "/v1/completions", Request: request, Status: 200, Answer: answer, Seconds: 0.41}
}

// wrongServer is a run in which decoding differs from prefill.
func wrongServer() []finding.Message {
	return []finding.Message{
		open(),
		probedEndpoint(),
		&finding.SettingMsg{Name: "kv_cache_dtype", Effective: "fp8_e4m3", ChosenBy: "unknown"},
		&finding.ExchangeMsg{N: 10, Probe: "identify", Method: "GET", Path: "/get_server_info", Status: 200, Answer: `{"version":"0.5.9"}`, Cut: true},
		exchange(1, "repeat", "the same again", `{"prompt":"The capital of France is","max_tokens":20,"temperature":0}`, `{"choices":[{"text":" Paris."}]}`),
		exchange(2, "repeat", "the same again", `{"prompt":"The capital of France is","max_tokens":20,"temperature":0}`, `{"choices":[{"text":" Paris."}]}`),
		&finding.ProbeMsg{ID: "repeat", Title: "the same request gives the same answer", Verdict: "pass", Text: "3 greedy answers of 20 tokens are equal; the greatest distance is 0.004",
			Essential: true, Exchanges: []int{1, 2}, Seconds: 1.9, Threshold: "distance 0.05 at the same position"},
		exchange(3, "decode", "decoded", `{"prompt":"Count: 1, 2, 3","max_tokens":64}`, `{"choices":[{"text":", 4, 5 5 5 5 5"}]}`),
		&finding.ProbeMsg{ID: "decode", Title: "what was decoded is what a prefill says", Verdict: "fail",
			Text:      "from token 17 on the decoded distribution has nothing to do with the prefilled one: distance 0.93",
			Threshold: "distance 0.02, four times what the server's own repeats differ by (0.004)", Essential: true, Signs: []string{"decode-differs-later"},
			Exchanges: []int{3, 4, 5}, Seconds: 4,
			Evidence: []finding.Evidence{
				{Kind: "request", Line: 3, Text: `", 4, 5 5 5 5 5"`, Note: "decoded: token 17 is \" 5\" with probability 0.73"},
				{Kind: "request", Line: 5, Text: `", 4, 5, 6, 7, 8"`, Note: "prefilled: there it has 0.0003"},
				{Kind: "request", Line: 4, Text: "a third quote"},
			}},
		&finding.ProbeMsg{ID: "needle", Title: "a long prompt is read to its end", Verdict: "cant-tell", Text: "the answer was cut by the time limit; --thorough gives it more",
			Exchanges: []int{9}, Seconds: 30},
		&finding.ProbeMsg{ID: "counters", Title: "the server's counters add up", Verdict: "cant-tell", Text: "it has no /metrics"},
		&finding.FindingMsg{Rank: 1, ID: "PROBE-DECODE", Cause: "kv-cache-dtype", Severity: finding.Error, Confidence: finding.Likely, Role: "cause",
			Title: "The decode kernel reads the KV cache wrongly", Why: "Prefill is right and decode is not, from the first full page on: what one kernel writes the other does not read.",
			Basis: "from token 17 on the decoded distribution has nothing to do with the prefilled one: distance 0.93", Evidence: []finding.Evidence{{Kind: "request", Line: 3, Text: `", 4, 5 5 5 5 5"`}, {Kind: "endpoint", File: "/get_server_info", Text: "kv_cache_dtype: fp8_e4m3"}}},
		&finding.FindingMsg{Rank: 2, ID: "PROBE-KERNEL", Cause: "numerics-garbage", Severity: finding.Error, Confidence: finding.Possible, Role: "cause", Title: "The attention kernel of the decode is wrong on this GPU"},
		&finding.BaselineMsg{File: "monday.json", Verdict: "proven right", Equal: 31, Changes: []finding.Changed{
			{Kind: "probe", Name: "decode", Then: "pass", Now: "fail"}, {Kind: "setting", Name: "kv_cache_dtype", Then: "auto", Now: "fp8_e4m3"},
			{Kind: "answer", Name: "to the same greedy request", Then: `", 4, 5, 6"`, Now: `", 4, 5 5 5"`},
		}},
		&finding.ConclusionMsg{Verdict: "wrong", Text: "Short texts are right, and decoding goes wrong behind a page of the KV cache.", Passed: 1, Failed: 1, Open: 2,
			Sent: finding.Traffic{Requests: 38, PromptTokens: 9120, AnswerTokens: 1480, Together: 8, Seconds: 41}, Causes: []string{"kv-cache-dtype", "numerics-garbage"},
			Next: []finding.Remedy{
				{Title: "16-bit KV cache", Price: "room for tokens 371k -> 228k", Decides: []string{"PROBE-DECODE"}, Changes: []finding.Change{{Kind: "flag", Name: "--kv-cache-dtype", To: ptr("bf16")}}},
				{Title: "ask again, longer", Script: "shakedown probe http://10.1.2.3:30000 --thorough"},
			}},
		&finding.EndMsg{Findings: 2, ExitCode: 3},
	}
}

func rightServer() []finding.Message {
	head := probedEndpoint()
	head.Notes, head.Gentle, head.Level = nil, true, "quick"
	return []finding.Message{
		open(), head,
		&finding.ProbeMsg{ID: "repeat", Title: "the same request gives the same answer", Verdict: "pass", Text: "equal", Essential: true, Exchanges: []int{1, 2, 4}, Seconds: 1.9},
		&finding.ProbeMsg{ID: "stream", Title: "a stream says what the whole answer says", Verdict: "pass", Text: "equal", Exchanges: []int{5}, Seconds: 0.4},
		&finding.ConclusionMsg{Verdict: "proven right", Text: "What was asked is answered as a right server answers it.", Passed: 2, Sent: finding.Traffic{Requests: 5, PromptTokens: 120, AnswerTokens: 80}},
		&finding.EndMsg{},
	}
}

func openServer() []finding.Message {
	return []finding.Message{
		open(),
		&finding.EndpointMsg{URL: "https://llm.example.org", Model: "m", Level: "default", Bound: finding.Traffic{Requests: 1, AnswerTokens: 20}},
		&finding.ProbeMsg{ID: "repeat", Title: "the same request gives the same answer", Verdict: "cant-tell", Text: "the server tells no logprobs", Essential: true},
		&finding.ConclusionMsg{Verdict: "can't tell", Text: "Nothing is wrong with what was asked, and too little could be asked.", Open: 1, Sent: finding.Traffic{Requests: 1}, Causes: []string{"unclear"}},
		&finding.EndMsg{ExitCode: 5},
	}
}

func unreachableServer() []finding.Message {
	return []finding.Message{open(), &finding.ErrorMsg{Text: "http://127.0.0.1:1: connection refused", Next: "shakedown explain server.log", ExitCode: 4}}
}

var probeFormats = map[string]constructor{"txt": NewProbeText, "md": NewProbeMarkdown, "html": NewProbeHTML, "xml": NewProbeJUnit}

func TestProbeReports(t *testing.T) {
	for name, ms := range runs {
		for ext, format := range probeFormats {
			golden(t, name+"."+ext, render(t, format, Options{}, ms))
		}
	}
	golden(t, "probe-wrong.full.txt", render(t, NewProbeText, Options{Full: true}, wrongServer()))
	golden(t, "probe-wrong.full.md", render(t, NewProbeMarkdown, Options{Full: true}, wrongServer()))
}

// TestRehearsal: what would be sent, request by request.
func TestRehearsal(t *testing.T) {
	planned := exchange(2, "decode", "decode of 64 tokens", `{"prompt":"`+strings.Repeat("a long prompt ", 60)+`","max_tokens":64}`, "")
	planned.Status, planned.Failure = 0, "not sent"
	golden(t, "probe-rehearsal.txt", render(t, NewRehearsalText, Options{}, []finding.Message{
		open(), probedEndpoint(), &finding.SettingMsg{Name: "kv_cache_dtype", Effective: "auto"},
		&finding.ExchangeMsg{N: 1, Probe: "identify", Method: "GET", Path: "/v1/models", Status: 200, Answer: "{}"}, planned, &finding.EndMsg{},
	}))
	if out := render(t, NewRehearsalText, Options{}, unreachableServer()); out != "" {
		t.Errorf("a server that is not there: %q", out)
	}
}

// TestProbeTextIsLive: what will be sent is written before anything is, and each
// probe when it is judged.
func TestProbeTextIsLive(t *testing.T) {
	var b strings.Builder
	h := NewProbeText(&b, Options{})
	for _, m := range wrongServer() {
		if err := h.Handle(m); err != nil {
			t.Fatal(err)
		}
		want := ""
		switch m := m.(type) {
		case *finding.EndpointMsg:
			want = "SENDING default level, at most: 45 requests"
		case *finding.ProbeMsg:
			want = m.Title
		}
		if written := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(written, want) {
			t.Errorf("no %q behind %T in:\n%s", want, m, b.String())
		}
	}
	if strings.Contains(b.String(), "WRONG") {
		t.Errorf("the verdict stands before the end:\n%s", b.String())
	}
}

func TestProbeTextFits(t *testing.T) {
	for name, ms := range runs {
		for _, width := range []int{60, 80, 120} {
			for _, full := range []bool{false, true} {
				for line := range strings.Lines(render(t, NewProbeText, Options{Width: width, Full: full}, ms)) {
					if line = strings.TrimSuffix(line, "\n"); term.Width(line) > width {
						t.Errorf("%s, width %d: %d columns: %s", name, width, term.Width(line), line)
					}
				}
			}
		}
	}
}

// TestProbeCut: a run that ended early says so in every format.
func TestProbeCut(t *testing.T) {
	for ext, format := range probeFormats {
		out := render(t, format, Options{}, wrongServer()[:9])
		if !strings.Contains(out, "its end is missing") {
			t.Errorf("%s does not say that the stream was cut:\n%s", ext, out)
		}
	}
}

// TestProbeRedacted: the address, keys, and everything that the model said.
func TestProbeRedacted(t *testing.T) {
	ms := wrongServer()
	ms[1].(*finding.EndpointMsg).URL = "http://admin:hunter2secret@gpu7.corp.example:30000"
	ms[4].(*finding.ExchangeMsg).Answer = `{"error":"key sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD is wrong","choices":[{"logprobs":{"tokens":[" Marseille"]}}]}`
	for ext, format := range probeFormats {
		out := render(t, format, Options{Full: true, Redact: redact.New()}, ms)
		for _, private := range []string{"hunter2secret", "gpu7.corp", "sk-abc", "5 5 5", "a third quote", "Marseille", "The capital of France", "6, 7, 8"} {
			if strings.Contains(out, private) {
				t.Errorf("%s shows %q", ext, private)
			}
		}
		if secrets := render(t, format, Options{Full: true, Redact: redact.NewSecrets()}, ms); strings.Contains(secrets, "hunter2secret") || strings.Contains(secrets, "sk-abc") || !strings.Contains(secrets, "5 5 5") {
			t.Errorf("%s, secrets alone: %s", ext, secrets)
		}
	}
	var b strings.Builder
	encoded := render(t, func(w io.Writer, opt Options) finding.Handler { return Redacted(finding.NewEncoder(w), opt.Redact) }, Options{Redact: redact.New()}, ms)
	b.WriteString(encoded)
	for _, private := range []string{"hunter2secret", "gpu7.corp", "sk-abc", "5 5 5", "Marseille", "The capital of France"} {
		if strings.Contains(b.String(), private) {
			t.Errorf("json shows %q", private)
		}
	}
}

// poisonRun returns a run in which every string is s.
func poisonRun(s string) []finding.Message {
	ms := wrongServer()
	for _, m := range ms {
		fill(reflect.ValueOf(m).Elem(), s)
	}
	for i, verdict := range []string{"pass", "fail", "cant-tell"} {
		ms = append(ms, &finding.ProbeMsg{ID: s, Title: s, Verdict: verdict, Text: s, Threshold: s, Exchanges: []int{i + 1}, Evidence: []finding.Evidence{{Kind: "request", Line: 1, Text: s, Note: s}, {Kind: "endpoint", File: s, Text: s}}})
	}
	return append(ms, &finding.FindingMsg{Role: "cause", Title: s, Why: s, Basis: s}, &finding.ErrorMsg{Text: s, Next: s})
}

func FuzzHostileAnswers(f *testing.F) {
	for _, s := range []string{
		"plain", "</pre><script>alert(1)</script>", "``` \n```\n<img src=x>", "a|b`c\\|d", "@everyone #1 [x](javascript:1)", "\x1b]0;t\x07\x1b[31m",
		"]]>", "\x00\x01\xff\ufffe", "名前 e\u0301 \u202e", "{{.}}", "- [ ] list", "a\n\n<b>", strings.Repeat("x", 900), strings.Repeat("\x1b[2J", 200),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 {
			return
		}
		all := maps.Clone(probeFormats)
		all["rehearsal"] = NewRehearsalText
		for ext, format := range all {
			out := render(t, format, Options{Full: true}, poisonRun(s))
			for _, r := range out {
				if r < 0x20 && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 {
					t.Fatalf("%s lets %U through", ext, r)
				}
			}
			switch ext {
			case "md":
				checkMarkdown(t, out)
			case "html":
				checkMarkup(t, out, htmlElements)
			case "xml":
				checkMarkup(t, out, junitElements)
			}
		}
	})
}

// TestProbeJUnit: one test case for each probe, and can't tell is no pass.
func TestProbeJUnit(t *testing.T) {
	var got suites
	if err := xml.Unmarshal([]byte(render(t, NewProbeJUnit, Options{}, wrongServer())), &got); err != nil {
		t.Fatal(err)
	}
	s := got.Suites[0]
	if s.Tests != 4 || s.Failures != 1 || s.Skipped != 2 || s.Errors != 0 || s.Cases[3].Skipped == nil || s.Cases[3].Skipped.Message != "it has no /metrics" {
		t.Errorf("%+v", s)
	}
}

// TestProbeUnfinished: what was judged before the end is counted and is no verdict.
func TestProbeUnfinished(t *testing.T) {
	out := render(t, NewProbeText, Options{}, wrongServer()[:11])
	if !strings.Contains(out, "NO CONCLUSION: 1 passed, 1 failed, 2 can't tell so far") || strings.Contains(out, "WRONG") {
		t.Errorf("%s", out)
	}
}
