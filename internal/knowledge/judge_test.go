package knowledge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/finding"
	"shakedown/internal/knowledge"
)

// outline writes the findings by rank: id, role, confidence, and for a
// consequence what it follows from.
func outline(j *knowledge.Judgement) []string {
	var out []string
	for i, f := range j.Findings {
		s := fmt.Sprintf("%s %s %s", f.ID, f.Role, f.Confidence)
		if f.Role == "consequence" {
			s += " of " + strings.Join(f.Explains, " ")
		}
		if f.Rank != i+1 {
			s += fmt.Sprintf(" (rank %d)", f.Rank)
		}
		out = append(out, s)
	}
	return out
}

// rule is a rule of this id and role whose line says its name.
func rule(name, role, more string) string {
	return fmt.Sprintf(`id: USR-%[1]s-001
title: %[1]s happens
why: It does.
cause: server-bug
severity: error
role: %[2]s
confidence: likely
lines: [{anchor: '%[1]s happens'}]
%[3]s
`, name, role, more)
}

// says is a line on which a rule's name stands.
func says(name, level, proc string) string {
	return fmt.Sprintf("[2026-03-01 10:00:12%s] %s kernel.py:7: %s happens here\n", proc, level, name)
}

const (
	err0 = "ERROR" // levels of says
	warn = "WARNING"
)

// chained is a traceback of two exceptions of one chain.
const chained = `[2026-03-01 10:00:12 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/a.py", line 1, in a
    b()
ValueError: FIRST happens

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/sglang/srt/c.py", line 1, in c
    d()
RuntimeError: SECOND happens

`

func TestRanking(t *testing.T) {
	start := sglDump + sglLoad
	first, second := says("FIRST", err0, " TP0"), says("SECOND", err0, " TP0")
	firstRule, secondRule := rule("FIRST", "cause", ""), rule("SECOND", "cause", "")
	for _, tc := range []struct {
		name  string
		rules []string
		log   string
		want  []string
	}{
		{"the earlier cause is the root", []string{firstRule, secondRule}, start + second + first, []string{"USR-SECOND-001 cause likely", "USR-FIRST-001 consequence likely of USR-SECOND-001"}},
		{
			"explains: a later line above an earlier one", []string{rule("FIRST", "cause", "explains: [USR-SECOND-001]"), secondRule},
			start + second + first, []string{"USR-FIRST-001 cause likely", "USR-SECOND-001 consequence likely of USR-FIRST-001"},
		},
		{
			"depends_on", []string{firstRule, rule("SECOND", "cause", "depends_on: [USR-FIRST-001]")},
			start + second + first, []string{"USR-FIRST-001 cause likely", "USR-SECOND-001 consequence likely of USR-FIRST-001"},
		},
		{"depends_on without the other", []string{firstRule, rule("SECOND", "cause", "depends_on: [USR-FIRST-001]")}, start + second, []string{"USR-SECOND-001 cause likely"}},
		{
			"depends_on what was survived", []string{firstRule, rule("SECOND", "cause", "depends_on: [USR-FIRST-001]")},
			start + first + sglLoaded + second, []string{"USR-SECOND-001 cause likely", "USR-FIRST-001 consequence likely of USR-SECOND-001"},
		},
		{"what was survived comes last", []string{firstRule, secondRule}, start + first + sglLoaded + second, []string{"USR-SECOND-001 cause likely", "USR-FIRST-001 consequence likely of USR-SECOND-001"}},
		{
			"what one rank survives, another may not", []string{firstRule, secondRule}, start + says("FIRST", err0, " TP1") + sglLoaded + second,
			[]string{"USR-FIRST-001 cause likely", "USR-SECOND-001 consequence likely of USR-FIRST-001"},
		},
		{
			"a quiet line is weaker than an error", []string{firstRule, secondRule}, start + says("FIRST", warn, " TP0") + second,
			[]string{"USR-SECOND-001 cause likely", "USR-FIRST-001 consequence likely of USR-SECOND-001"},
		},
		{
			"unless it explains the error", []string{rule("FIRST", "cause", "explains: [USR-SECOND-001]"), secondRule}, start + says("FIRST", warn, " TP0") + second,
			[]string{"USR-FIRST-001 cause likely", "USR-SECOND-001 consequence likely of USR-FIRST-001"},
		},
		{"the original of a chain", []string{firstRule, secondRule}, start + chained, []string{"USR-FIRST-001 cause likely", "USR-SECOND-001 consequence likely of USR-FIRST-001"}},
		{
			"a specific rule beats a generic one on the same exception",
			[]string{strings.Replace(rule("FIRST", "cause", ""), "USR-FIRST-001", "GEN-EXC-001", 1), rule("OTHER", "cause", "also: [{anchor: ValueError}]"), strings.Replace(rule("SPECIFIC", "cause", ""), "SPECIFIC happens'", "ValueError: FIRST'", 1)},
			start + chained, []string{"USR-SPECIFIC-001 cause likely", "GEN-EXC-001 consequence likely of USR-SPECIFIC-001"},
		},
		{"a suspect that explains what happened", []string{rule("FIRST", "suspect", "explains: [USR-SECOND-001]"), secondRule}, start + says("FIRST", warn, " TP0") + second, []string{"USR-FIRST-001 cause likely", "USR-SECOND-001 consequence likely of USR-FIRST-001"}},
		{"a suspect of something else", []string{rule("FIRST", "suspect", "explains: [USR-OTHER-001]"), secondRule, rule("OTHER", "cause", "")}, start + says("FIRST", warn, " TP0") + second, []string{"USR-SECOND-001 cause likely"}},
		{"a suspect of whatever happens, beside a cause", []string{rule("FIRST", "suspect", "explains: [symptom]"), secondRule}, start + says("FIRST", warn, " TP0") + second, []string{"USR-SECOND-001 cause likely", "USR-FIRST-001 cause likely"}},
		{"a consequence below its cause, although earlier", []string{rule("FIRST", "consequence", ""), secondRule}, start + first + second, []string{"USR-SECOND-001 cause likely", "USR-FIRST-001 consequence likely of USR-SECOND-001"}},
		{"a lone symptom", []string{rule("FIRST", "symptom", "")}, start + first, []string{"USR-FIRST-001 cause possible"}},
		{"a lone suspect", []string{rule("FIRST", "suspect", "explains: [USR-SECOND-001]"), secondRule}, start + says("FIRST", warn, " TP0") + sglSigquit, []string{"USR-FIRST-001 cause possible"}},
		{
			"a remark on a launch that failed", []string{strings.Replace(rule("FIRST", "suspect", "explains: [USR-SECOND-001]"), "severity: error", "severity: info", 1), secondRule},
			start + says("FIRST", warn, " TP0") + sglSigquit, []string{"GEN-UNCLEAR cause possible"},
		},
		{"a latent fault beside the cause", []string{rule("FIRST", "latent", ""), secondRule}, start + first + second, []string{"USR-SECOND-001 cause likely", "USR-FIRST-001 latent likely"}},
		{
			"a death whose cause no line names gives way", []string{strings.Replace(firstRule, "server-bug", "unclear", 1), secondRule},
			start + first + second, []string{"USR-SECOND-001 cause likely", "USR-FIRST-001 consequence likely of USR-SECOND-001"},
		},
		{"an exception that no rule names", []string{secondRule}, start + strings.Replace(chained, "SECOND", "THIRD", 1), []string{"GEN-EXC-UNKNOWN cause possible"}},
		{"an exception behind a cause", []string{firstRule}, start + first + strings.Replace(chained, "FIRST", "THIRD", 1), []string{"USR-FIRST-001 cause likely", "GEN-EXC-UNKNOWN consequence possible of USR-FIRST-001"}},
		{"error lines that nobody knows", nil, start + first, []string{"GEN-UNCLEAR cause possible"}},
		{"a wrapper alone", nil, start + sglSigquit, []string{"GEN-UNCLEAR cause possible"}},
		{"a log that ends", nil, start, []string{"GEN-UNCLEAR-END cause possible"}},
		{"stopped from outside", []string{rule("FIRST", "latent", "")}, start + first + sglSigterm, []string{"GEN-STOP cause likely", "USR-FIRST-001 latent likely"}},
		{"healthy", []string{firstRule, rule("SECOND", "latent", ""), rule("OTHER", "suspect", "")}, start + first + second + says("OTHER", warn, " TP0") + sglReady, []string{"USR-SECOND-001 latent likely"}},
		{"healthy, and stopped", []string{rule("SECOND", "latent", "")}, start + second + sglReady + sglServed + sglSigterm, []string{"USR-SECOND-001 latent likely", "GEN-STOP cause likely"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, outline(judge(t, load(t, tc.rules...), tc.log))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestLoneConsequence: what usually follows from another failure is the root
// when the log shows nothing else, and no more than possible.
func TestLoneConsequence(t *testing.T) {
	base := load(t, rule("FIRST", "consequence", ""), rule("SECOND", "consequence", ""))
	j := judge(t, base, sglDump+sglLoad+says("FIRST", err0, " TP0")+says("SECOND", err0, " TP0"))
	if len(j.Findings) != 2 || j.Findings[0].ID != "USR-FIRST-001" || j.Findings[0].Confidence != finding.Possible || !slices.Equal(j.Findings[1].Explains, []string{"USR-FIRST-001"}) {
		t.Errorf("got %q", outline(j))
	}
}

// TestPeerStopped: one node was stopped from outside; that the others lose it
// is no cause.
func TestPeerStopped(t *testing.T) {
	node := func(rank string) string {
		return "$ python3 -m sglang.launch_server --model-path /m --tp 16 --nnodes 2 --node-rank " + rank + " --dist-init-addr 10.1.0.1:5000\n" + sglLoad
	}
	base := load(t, rule("FIRST", "consequence", ""))
	got := outline(judge(t, base, node("0")+says("FIRST", err0, " TP0")+sglSigquit, node("1")+"Traceback (most recent call last):\n  File \"/opt/sglang/launch_server.py\", line 30, in <module>\n    launch_server(args)\nKeyboardInterrupt\n"))
	if want := []string{"GEN-STOP cause likely", "USR-FIRST-001 consequence likely of GEN-STOP"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNoise: a line that healthy servers print too accuses nobody.
func TestNoise(t *testing.T) {
	noise := "[2026-03-01 10:00:12 TP0] Ignore import error when loading sglang.srt.models.orca: cannot import name 'OrcaConfig' from 'transformers'\n"
	accuser := strings.Replace(rule("FIRST", "cause", ""), "FIRST happens'", "cannot import name'", 1)
	base := load(t, accuser)
	j := judge(t, base, sglDump+sglLoad+noise+sglSigquit)
	if len(j.Applied) != 0 || !slices.Equal(outline(j), []string{"GEN-UNCLEAR cause possible"}) {
		t.Errorf("applied %v, findings %q", j.Applied, outline(j))
	}
	j = judge(t, load(t, strings.Replace(accuser, "confidence: likely", "confidence: possible", 1)), sglDump+sglLoad+noise+sglSigquit)
	if len(j.Applied) != 1 {
		t.Error("a rule that only holds it possible may stand on a known line")
	}
}

// TestStrengthen: the first that holds replaces confidence and basis.
func TestStrengthen(t *testing.T) {
	more := func(first, second string) string {
		return "basis: the line\nstrengthen:\n  - {when: [{outcome: [" + first + "]}], confidence: proven, basis: one}\n  - {when: [{outcome: [" + second + "]}], confidence: possible, basis: two}"
	}
	for _, tc := range []struct{ more, want string }{
		{"basis: the line", "likely: the line"},
		{more("failed", "failed"), "proven: one"},
		{more("ok", "failed"), "possible: two"},
		{more("ok", "ok"), "likely: the line"},
	} {
		f := judge(t, load(t, with(tc.more)), sglDump+sglLoad+orcaNeeds).Findings[0]
		if got := string(f.Confidence) + ": " + f.Basis; got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.more, got, tc.want)
		}
	}
}

// TestMessage: what a finding tells.
func TestMessage(t *testing.T) {
	base := load(t, strings.NewReplacer("needs\n", "needs\n    regex: 'needs (?P<need>\\d+) of (?P<have>\\d+)'\n    note: says how much\n", "is too big", "is too big for {have} GiB", "It is.", "It\n  needs {need} GiB.").Replace(good)+`
also: [{anchor: Received sigquit}]
decide: ['look at {model}/config.json']
sources: [sglang 1]
remedies:
  - {title: 'less than {need}', set: {--b: '{have}', --a: ''}, unset: [--c], env: {X_Y: '1'}, price: slow, decides: [USR-TEST-001]}
  - {title: of another engine, engines: [vllm], text: x}
  - {title: when it is up, when: [{outcome: [ok]}], text: x}
  - {title: a text, text: 'do this'}
`)
	f := judge(t, base, sglDump+sglLoad+orcaNeeds+strings.Replace(orcaNeeds, "TP0", "TP1", 1)+sglSigquit).Findings[0]
	if f.Title != "the orca kernel is too big for 8 GiB" || f.Why != "It needs 9 GiB." || f.Decide[0] != "look at /models/orca-nvfp4/config.json" {
		t.Errorf("title %q, why %q, decide %q", f.Title, f.Why, f.Decide)
	}
	if f.Count != 2 || !slices.Equal(f.Ranks, []string{"TP0", "TP1"}) || f.Captures[0].Name != "have" || f.Captures[1].Value != "9" {
		t.Errorf("count %d, ranks %v, captures %v", f.Count, f.Ranks, f.Captures)
	}
	var lines []string
	for _, ev := range f.Evidence {
		lines = append(lines, fmt.Sprint(ev.Line, " ", ev.Note))
	}
	if want := []string{"4 says how much", "5 says how much", "6 "}; !slices.Equal(lines, want) {
		t.Errorf("evidence %q, want %q", lines, want)
	}
	var remedies []string
	for _, r := range f.Remedies {
		s := r.Title + ":"
		for _, c := range r.Changes {
			to := "unset"
			if c.To != nil {
				to = *c.To
			}
			s += fmt.Sprintf(" %s %s=%s", c.Kind, c.Name, to)
		}
		remedies = append(remedies, s)
	}
	if want := []string{"less than 9: flag --a= flag --b=8 flag --c=unset env X_Y=1", "a text:"}; !slices.Equal(remedies, want) {
		t.Errorf("remedies %q, want %q", remedies, want)
	}
}

// TestEvidenceLimit: many lines leave room for the supporting one.
func TestEvidenceLimit(t *testing.T) {
	var log strings.Builder
	log.WriteString(sglDump + sglLoad)
	for rank := range 8 {
		log.WriteString(strings.Replace(orcaNeeds, "TP0", fmt.Sprint("TP", rank), 1))
	}
	f := judge(t, load(t, with("also: [{anchor: Received sigquit}]")), log.String()+sglSigquit).Findings[0]
	var lines []int
	for _, ev := range f.Evidence {
		lines = append(lines, ev.Line)
	}
	if want := []int{4, 5, 6, 7, 8, 12}; !slices.Equal(lines, want) {
		t.Errorf("evidence in lines %v, want %v", lines, want)
	}
	if f.Count != 8 {
		t.Errorf("count %d, want 8", f.Count)
	}
}

// TestLeadNotSurvived: the line that a process did not survive leads, although
// an earlier one says the same.
func TestLeadNotSurvived(t *testing.T) {
	log := sglDump + sglLoad + orcaNeeds + sglLoaded + orcaNeeds + sglSigquit
	f := judge(t, load(t, good), log).Findings[0]
	if f.Evidence[0].Line != 6 || f.Evidence[1].Line != 4 {
		t.Errorf("evidence in lines %d, %d; want 6 before 4", f.Evidence[0].Line, f.Evidence[1].Line)
	}
}

// TestManyFindings: a report shows 16 findings of a launch.
func TestManyFindings(t *testing.T) {
	var all []string
	var log strings.Builder
	log.WriteString(sglDump + sglLoad)
	for i := range 30 {
		name := fmt.Sprintf("F%02d", i)
		all = append(all, rule(name, "cause", ""))
		log.WriteString(says(name, err0, " TP0"))
	}
	j := judge(t, load(t, all...), log.String())
	if len(j.Findings) != 16 || len(j.Applied) != 30 || j.Findings[0].ID != "USR-F00-001" {
		t.Errorf("%d findings of %d rules, the first %s", len(j.Findings), len(j.Applied), j.Findings[0].ID)
	}
	if j.Following != 29 {
		t.Errorf("%d error lines follow from the root, want 29", j.Following)
	}
}

func TestSymptom(t *testing.T) {
	start := sglDump + sglLoad
	for _, tc := range []struct {
		name  string
		rules []string
		log   string
		want  string
	}{
		{"of a rule, on two ranks", []string{rule("FIRST", "symptom", "")}, start + says("FIRST", err0, " TP0") + says("FIRST", err0, " TP1"), "FIRST happens (2 ranks)"},
		{
			"the one that the root explains", []string{rule("FIRST", "symptom", ""), rule("SECOND", "symptom", ""), rule("ROOT", "cause", "explains: [USR-SECOND-001]")},
			start + says("FIRST", err0, " TP0") + says("SECOND", err0, " TP0") + says("ROOT", err0, " TP0"), "SECOND happens",
		},
		{"of the engine", nil, start + sglReady + assertNaN, "inf, NaN or a negative probability in the sampler"},
		{"failed", nil, start + sglSigquit, "the server never got ready; it ended while it loaded the weights"},
		{"failed after ready", nil, start + sglReady + sglServed + sglSigquit, "the server was ready and failed afterwards, while it served requests"},
		{"stalled", nil, start, "the log ends without an error and without the ready line, while it loaded the weights"},
		{"stopped", nil, start + sglSigterm, "the server was stopped from outside, while it loaded the weights"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := judge(t, load(t, tc.rules...), tc.log)
			if j.Symptom == nil || j.Symptom.Title != tc.want || len(j.Symptom.Evidence) == 0 {
				t.Errorf("symptom %+v, want %q", j.Symptom, tc.want)
			}
		})
	}
	if j := judge(t, load(t), start+sglReady); j.Symptom != nil {
		t.Errorf("a healthy launch has the symptom %q", j.Symptom.Title)
	}
}

// TestNotIt: exonerated lines and the engine's own innocents.
func TestNotIt(t *testing.T) {
	base := load(t, rule("FIRST", "exonerate", ""))
	j := judge(t, base, sglDump+sglLoad+says("FIRST", err0, " TP0")+sglSigquit)
	var got []string
	for _, m := range j.NotIt {
		got = append(got, fmt.Sprintf("%s %s %d", m.ID, m.Title, m.Evidence[0].Line))
	}
	want := []string{"USR-FIRST-001 FIRST happens 4", "SGL-WRAP-SIGQUIT-CHILD reports a failure whose cause stands elsewhere 5"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if ids := outline(j); len(ids) != 1 || !strings.HasPrefix(ids[0], "GEN-UNCLEAR ") {
		t.Errorf("findings %q", ids)
	}
}

// TestUnexplained: clusters of error lines that no rule looks at, biggest first.
func TestUnexplained(t *testing.T) {
	j := judge(t, load(t, rule("FIRST", "cause", "")), sglDump+sglLoad+says("ONCE", err0, " TP0")+says("FIRST", err0, " TP0")+strings.Repeat(says("OFTEN", err0, " TP0"), 3))
	var got []string
	for _, m := range j.Unexplained {
		got = append(got, fmt.Sprintf("%dx line %d", m.Count, m.Line))
	}
	if want := []string{"3x line 6", "1x line 4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnknownException: its type, place and class are all that is claimed.
func TestUnknownException(t *testing.T) {
	trace := func(file, exc string) string {
		return "[2026-03-01 10:00:12 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/opt/sglang/srt/" + file + "\", line 1, in f\n    g()\n" + exc + "\n"
	}
	for _, tc := range []struct{ log, title, cause string }{
		{sglDump + sglLoad + trace("model_loader/loader.py", "KeyError: 'w1'"), "unhandled KeyError in the weight loader", "checkpoint-format"},
		{sglDump + sglLoad + trace("models/orca.py", "KeyError: 'w1'"), "unhandled KeyError in the model code", "server-bug"},
		{sglDump + trace("server_args.py", "ValueError: no"), "unhandled ValueError in the argument handling", "invalid-argument"},
		{sglDump + sglLoad + trace("distributed/parallel_state.py", "RuntimeError: no"), "unhandled RuntimeError in the communication between ranks", "distributed-init"},
		{sglDump + sglLoad + sglReady + strings.Replace(trace("distributed/parallel_state.py", "RuntimeError: no"), " TP0", "", 1) + sglSigquit, "unhandled RuntimeError in the communication between ranks", "distributed-hang"},
		{sglDump + sglLoad + trace("x.py", "RuntimeError"), "unhandled RuntimeError in the server's own code", "server-bug"},
		{sglDump + sglLoad + strings.TrimSuffix(trace("x.py", ""), "\n"), "traceback cut before its exception, in the server's own code", "server-bug"},
	} {
		f := judge(t, load(t), tc.log).Findings[0]
		if f.ID != "GEN-EXC-UNKNOWN" || f.Title != tc.title || f.Cause != tc.cause || len(f.Evidence) != 2 || len(f.Decide) == 0 {
			t.Errorf("%s: %q of class %s with %d lines; want %q of class %s", f.ID, f.Title, f.Cause, len(f.Evidence), tc.title, tc.cause)
		}
	}
}

// TestJudgePure: the same launch gives the same judgement, also again.
func TestJudgePure(t *testing.T) {
	base := load(t, rule("FIRST", "cause", ""), rule("SECOND", "cause", ""), good)
	log := sglDump + sglLoad + says("SECOND", err0, " TP0") + says("FIRST", err0, " TP1") + orcaNeeds + chained + sglSigquit
	want := judge(t, base, log)
	for range 5 {
		if d := cmp.Diff(want, judge(t, base, log)); d != "" {
			t.Fatal(d)
		}
	}
}
