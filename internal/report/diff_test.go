package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"shakedown/internal/finding"
	"shakedown/internal/redact"
	"shakedown/internal/term"
)

// comparisons are the inputs of the golden tests of differences.
var comparisons = map[string][]finding.Message{
	"upgrade": upgrade(),
	"same":    unchanged(),
}

// upgrade is a new image that chooses another attention backend.
func upgrade() []finding.Message {
	const old, now = "logs/yesterday.log", "logs/today.log"
	script := "python -m sglang.launch_server --model-path acme/Heron-14B --api-key hunter22hunter22 \\\n  --attention-backend fa3"
	return []finding.Message{
		open(),
		&finding.ComparisonMsg{
			Good: finding.Side{Files: []string{old}, Launch: 2, Launches: 3, Engine: "sglang", EngineVersion: "0.5.8", Outcome: finding.OK, Phase: "ready", Verdict: "healthy", Model: "acme/Heron-14B", Hardware: "1x H100"},
			Bad: finding.Side{
				Files: []string{now, "logs/today-node1.log", "logs/a-name-that-is-longer-than-any-column-has-room.log"}, Launch: 1, Launches: 1, Engine: "sglang", EngineVersion: "0.5.9", Outcome: finding.Failed, Phase: "graph-capture",
				Verdict: "failed before ready", Model: "acme/Heron-14B", Hardware: "1x H100", Parallel: "tp 2",
			},
			PartsAfter: "KV cache allocated", Verdict: "parts after KV cache allocated: GOOD went on to ready, BAD failed in graph-capture",
			Equal: 57, Dropped: 2, Notes: []string{"BAD lacks the logs of some nodes"},
		},
		&finding.DifferenceMsg{
			Kind: "milestone", Name: "graphs captured", Good: "reached", Bad: "not reached", Weight: finding.Decisive,
			EvidenceGood: []finding.Evidence{log(old, 130, "")}, EvidenceBad: []finding.Evidence{log(now, 120, "")},
		},
		&finding.DifferenceMsg{
			Kind: "finding", Name: "SGL-ATT-001", Bad: "likely: the attention kernel has no build for a head size of 192", Weight: finding.Decisive, Why: "BAD's first cause, which GOOD does not show",
			EvidenceBad: []finding.Evidence{log(now, 160, "RuntimeError: BatchDecode: head_dim 192 is not supported")},
		},
		&finding.DifferenceMsg{
			Kind: "fact", Name: "model.arch", Good: "HeronForCausalLM", Bad: "TransformersForCausalLM", Weight: finding.Suspicious,
			EvidenceBad: []finding.Evidence{log("logs/a-name-that-is-longer-than-any-column-has-room.log", 99, "")},
		},
		&finding.DifferenceMsg{Kind: "version", Name: "engine version", Good: "0.5.8", Bad: "0.5.9", Weight: finding.Suspicious},
		&finding.DifferenceMsg{
			Kind: "choice", Name: "attention_backend", Good: "fa3", Bad: "flashinfer", Weight: finding.Suspicious, Why: "the lines of BAD's first cause (SGL-ATT-001) name its value",
			EvidenceGood: []finding.Evidence{log(old, 12, "Attention backend not specified. Use fa3 backend by default.")},
			EvidenceBad:  []finding.Evidence{log(now, 12, "Attention backend not specified. Use flashinfer backend by default.")},
			Next: &finding.Remedy{
				Title: "BAD's command with GOOD's value of attention_backend", Changes: []finding.Change{{Kind: "flag", Name: "--attention-backend", To: ptr("fa3")}},
				Script: script, Text: "These are the server's own arguments: keep BAD's environment and wrapper.",
			},
		},
		&finding.DifferenceMsg{
			Kind: "setting", Name: "compilation.inductor_compile_config", Weight: finding.Suspicious,
			Good: "{'combo_kernels': True, 'max_autotune': False}", Bad: "{'combo_kernels': True, 'max_autotune': True}",
			EvidenceGood: []finding.Evidence{{Kind: "log", File: old, Line: 9, Field: "inductor_compile_config"}},
		},
		&finding.DifferenceMsg{Kind: "setting", Name: "admin_password", Good: "velvet-otter-9", Weight: finding.Suspicious, Why: "asked for in GOOD only"},
		&finding.DifferenceMsg{Kind: "fact", Name: "kv.tokens", Good: "204800", Bad: "196608", Weight: finding.Note, Why: "BAD has 0.96 times GOOD's", EvidenceGood: []finding.Evidence{log(old, 118, "")}, EvidenceBad: []finding.Evidence{log(now, 119, "")}},
		&finding.DifferenceMsg{Kind: "phase-time", Name: "loading weights -> weights loaded", Good: "12.0 s", Bad: "35.0 s", Weight: finding.Note},
		&finding.EndMsg{Launches: 2, ExitCode: 3},
	}
}

// unchanged are two launches without a difference.
func unchanged() []finding.Message {
	side := finding.Side{Files: []string{"a.log"}, Launch: 1, Launches: 1, Engine: "vllm", EngineVersion: "0.24.0", Outcome: finding.OK, Phase: "ready", Verdict: "healthy", Model: "acme/Lapwing-8B"}
	return []finding.Message{
		open(),
		&finding.ComparisonMsg{Good: side, Bad: side, PartsAfter: "ready", Verdict: "both came to ready", Equal: 43},
		&finding.EndMsg{Launches: 2},
	}
}

func TestDiffText(t *testing.T) {
	for name, ms := range comparisons {
		golden(t, "diff-"+name+".txt", render(t, NewDiffText, Options{}, ms))
	}
	golden(t, "diff-upgrade.full.txt", render(t, NewDiffText, Options{Full: true}, upgrade()))
}

func TestDiffMarkdown(t *testing.T) {
	for name, ms := range comparisons {
		golden(t, "diff-"+name+".md", render(t, NewDiffMarkdown, Options{Redact: redact.New()}, ms))
	}
}

// TestDiffRedacts checks values that are secret by their name alone.
func TestDiffRedacts(t *testing.T) {
	for name, format := range map[string]constructor{"text": NewDiffText, "markdown": NewDiffMarkdown} {
		out := render(t, format, Options{Redact: redact.New(), Full: true}, upgrade())
		for _, secret := range []string{"velvet-otter-9", "hunter22"} {
			if strings.Contains(out, secret) {
				t.Errorf("%s shows %q:\n%s", name, secret, out)
			}
		}
	}
}

// TestDiffFits checks that only the command to copy may be wider than the page.
func TestDiffFits(t *testing.T) {
	for _, width := range []int{60, 80, 120} {
		out := render(t, NewDiffText, Options{Width: width, Full: true}, upgrade())
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			if term.Width(line) > width && !strings.Contains(line, "launch_server") {
				t.Errorf("width %d: %d columns: %s", width, term.Width(line), line)
			}
		}
	}
}

func TestDiffIncomplete(t *testing.T) {
	ms := upgrade()
	for name, format := range map[string]constructor{"text": NewDiffText, "markdown": NewDiffMarkdown} {
		if out := render(t, format, Options{}, ms[:len(ms)-1]); !strings.Contains(out, "its end is missing") {
			t.Errorf("%s does not say that the stream was cut", name)
		}
	}
}

func TestDiffMatchesSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, ms := range comparisons {
		for i, m := range ms {
			line, err := finding.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s, message %d: %v\n%s", name, i, err, line)
			}
		}
	}
}

func TestApart(t *testing.T) {
	for _, tc := range []struct{ a, b, wantA, wantB string }{
		{"fa3", "fa2", "fa3", "fa2"},
		{"/models/a-long-enough-name/one", "/models/a-long-enough-name/two", "…nough-name/one", "…nough-name/two"},
		{"{'日本語日本語日本語日本語': 1}", "{'日本語日本語日本語日本語': 2}", "…語日本語': 1}", "…語日本語': 2}"},
		{"quite another value, and a long one", "something else that is long as well", "quite another value, and a long one", "something else that is long as well"},
	} {
		if a, b := apart(tc.a, tc.b); a != tc.wantA || b != tc.wantB {
			t.Errorf("apart(%q, %q) = %q, %q", tc.a, tc.b, a, b)
		}
	}
}
