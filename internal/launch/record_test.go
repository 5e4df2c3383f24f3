package launch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/engine/all"
	"shakedown/internal/fact"
	"shakedown/internal/launch"
	"shakedown/internal/launchtest"
	"shakedown/internal/match"
)

func TestMilestones(t *testing.T) {
	l := readOne(t, sglStart)
	var got []string
	for _, m := range l.Milestones {
		got = append(got, fmt.Sprintf("%d %s %s", m.Pos.Line, m.Proc, m.Line.Name))
	}
	want := []string{
		"2 TP0 distributed start-up begun", "3 TP1 distributed start-up begun", "4 TP0 loading weights", "5 TP1 loading weights",
		"6 TP0 weights loaded", "7 TP0 capturing graphs", "8 TP0 graphs captured", "9 TP0 scheduler ready", "10  HTTP server up", "11  ready",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFacts(t *testing.T) {
	l := readOne(t, sglStart)
	for k, want := range map[fact.Key][]string{
		fact.Model: {"/models/orca-7b"}, fact.TP: {"2"}, fact.Arch: {"OrcaForCausalLM"},
		fact.AvailGB: {"78.40", "78.40", "70.10", "8.70"}, fact.KVTokens: {"482100"}, fact.GraphsGB: {"0.40"},
	} {
		if got := facts(l, k); !slices.Equal(got, want) {
			t.Errorf("%s = %q, want %q", k, got, want)
		}
	}
	f, _ := l.Facts.Get(fact.WeightsGB)
	if want := (fact.Fact{Key: fact.WeightsGB, Value: "8.30", Unit: "GiB", Pos: fact.Pos{File: "server.log", Line: 6}, Rank: "TP0"}); f != want {
		t.Errorf("got %+v, want %+v", f, want)
	}
}

// TestTold: what the user says counts where the log is silent.
func TestTold(t *testing.T) {
	x := launchtest.Index(t)
	told := launch.Told{Engine: all.List[1], Facts: []fact.Fact{{Key: fact.EngineVersion, Value: "0.11.0"}, {Key: fact.GPUName, Value: "H200"}}}
	got := launchtest.Read(t, x, "paste", told, "ValueError: no such thing\n")
	if len(got) != 1 {
		t.Fatalf("%d launches, want one: the user named the engine", len(got))
	}
	if l := got[0]; l.Engine != all.List[1] || l.Version != "0.11.0" || l.Facts.Value(fact.GPUName) != "H200" {
		t.Errorf("engine %s, version %q, GPU %q", l.EngineName(), l.Version, l.Facts.Value(fact.GPUName))
	}
}

const rankTraceback = `[2026-03-01 10:02:00 TP%d] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 2100, in run_scheduler_process
    scheduler.event_loop_overlap()
  File "/opt/sglang/srt/layers/linear.py", line 77, in apply
    return kernel(x)
RuntimeError: no kernel for shape %d of rank %[1]d

`

// TestEqualTraces: eight ranks fail alike, one fails differently.
func TestEqualTraces(t *testing.T) {
	var log strings.Builder
	log.WriteString(sglDump + sglLoad)
	for rank := range 8 {
		fmt.Fprintf(&log, rankTraceback, rank, 4096+rank)
	}
	log.WriteString("[2026-03-01 10:02:01 TP3] Detokenizer hit an exception: Traceback (most recent call last):\n  File \"/opt/sglang/srt/managers/detokenizer.py\", line 9, in loop\n    recv()\nEOFError\n")
	l := readOne(t, log.String())
	if len(l.Traces) != 2 {
		t.Fatalf("%d different tracebacks, want 2", len(l.Traces))
	}
	tr := l.Traces[0]
	if tr.Count != 8 || len(tr.Copies) != 7 || !slices.Equal(tr.Ranks, []string{"TP0", "TP1", "TP2", "TP3", "TP4", "TP5", "TP6", "TP7"}) {
		t.Errorf("count %d, %d copies, ranks %v", tr.Count, len(tr.Copies), tr.Ranks)
	}
	if o := tr.Original(); o == nil || o.Type != "RuntimeError" || o.Message != "no kernel for shape 4096 of rank 0" {
		t.Errorf("original %+v", o)
	}
	if got := l.TraceAt("server.log", 6+7*5+1); got != tr {
		t.Error("a line of the copy of TP5 is not found")
	}
	if l.TraceAt("server.log", 2) != nil || l.TraceAt("other.log", 7) != nil {
		t.Error("a traceback is found where none is")
	}
}

// TestDrift: a known anchor in a form that no pattern reads.
func TestDrift(t *testing.T) {
	newForm := "[2026-03-01 10:00:30 TP0] Load weight end. took 19 s\n"
	l := readOne(t, sglDump+sglLoad+newForm+newForm+sglUp)
	ds := l.Drifts()
	if len(ds) != 1 {
		t.Fatalf("%d drifts, want one", len(ds))
	}
	want := launch.Drift{ID: "SGL-LOAD-END", Count: 2, Pos: fact.Pos{File: "server.log", Line: 6}, Text: strings.TrimSuffix(newForm, "\n")}
	if d := cmp.Diff(want, *ds[0]); d != "" {
		t.Error(d)
	}
}

// TestRuleEvents: where rules look, and what they read.
func TestRuleEvents(t *testing.T) {
	watch := func(id, anchor string, in launch.Where) *launch.Watch {
		return &launch.Watch{ID: id, Anchor: anchor, In: in}
	}
	need := watch("USR-TEST-001", "rank needs ", launch.DefaultWhere)
	need.Regex = match.NewRegexp(`rank needs (?P<need>\d+) of (?P<have>\d+) GiB`)
	vllmOnly := watch("USR-TEST-009", "rank needs ", launch.DefaultWhere)
	vllmOnly.For = []string{"vllm"}
	x := launchtest.Index(t, need, vllmOnly,
		watch("USR-TEST-002", "orca_kernel", launch.InFrame), watch("USR-TEST-003", "orca_kernel", launch.InSource),
		watch("USR-TEST-004", "orca_kernel", launch.InException), watch("USR-TEST-005", "orca_kernel", launch.InOutput), watch("USR-TEST-006", "orca_kernel", launch.InLog),
		watch("USR-TEST-007", "random_seed=11", launch.DefaultWhere))
	log := sglDump + sglLoad + `[2026-03-01 10:00:31 TP1] rank needs 9 of 8 GiB
[2026-03-01 10:00:31 TP1] rank needs more
[2026-03-01 10:00:31 TP1] orca_kernel compiled
orca_kernel.cu:12: warning
[2026-03-01 10:00:31 TP1] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/orca_kernel.py", line 12, in run
    orca_kernel(x)
RuntimeError: orca_kernel has no variant
`
	l := launchtest.Read(t, x, "server.log", launch.Told{}, log)[0]
	got := make(map[string][]int)
	for _, ev := range l.Events {
		if ev.Watch.Line == nil {
			got[ev.Watch.ID] = append(got[ev.Watch.ID], ev.Pos.Line)
		}
	}
	want := map[string][]int{"USR-TEST-001": {6}, "USR-TEST-002": {11}, "USR-TEST-003": {12}, "USR-TEST-004": {13}, "USR-TEST-005": {9}, "USR-TEST-006": {8}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events of rules (the dump is known as settings and never searched): %s", d)
	}
	if d := cmp.Diff(map[string]string{"need": "9", "have": "8"}, launchtest.Events(l, "USR-TEST-001")[0].Caps); d != "" {
		t.Error(d)
	}
}

// TestDumpOverLines: a dump that a console hard-wrapped is one dump.
func TestDumpOverLines(t *testing.T) {
	cut := strings.Index(sglDump, "dp_size")
	l := readOne(t, sglDump[:cut]+"\n"+sglDump[cut:]+sglLoad)
	if len(l.Dumps) != 1 || !l.Dumps[0].Effective || len(l.Dumps[0].Settings) != 7 {
		t.Fatalf("dumps %+v", l.Dumps)
	}
	if len(l.Milestones) != 4 {
		t.Errorf("%d milestones behind the dump, want 4", len(l.Milestones))
	}
}

func TestParseWhere(t *testing.T) {
	for _, tc := range []struct {
		names []string
		want  launch.Where
	}{
		{nil, launch.DefaultWhere},
		{[]string{"log"}, launch.InLog},
		{[]string{"frame", "source", "output", "exception"}, launch.InFrame | launch.InSource | launch.InOutput | launch.InException},
	} {
		if got, err := launch.ParseWhere(tc.names); err != nil || got != tc.want {
			t.Errorf("%q: %b, %v; want %b", tc.names, got, err, tc.want)
		}
	}
	const want = `unknown place "prose" (log, exception, output, frame, source)`
	if _, err := launch.ParseWhere([]string{"log", "prose"}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
