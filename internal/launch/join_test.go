package launch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/launch"
	"shakedown/internal/launchtest"
)

// nodeCommand is the command of one SGLang node of two.
const nodeCommand = "$ python3 -m sglang.launch_server --model-path /models/orca-70b --tp 16 --nnodes 2 --node-rank %d --dist-init-addr %s\n"

func nodeLog(rank int, master, rest string) string {
	return fmt.Sprintf(nodeCommand, rank, master) + rest
}

const rendezvous = "10.1.0.1:5000"

// secondUp is the rest of a healthy second SGLang node.
const secondUp = sglLoad + sglLoaded + "[2026-03-01 10:00:44] Dummy health check server started in background thread at 127.0.0.1:30000\n"

// first is the rest of a healthy first SGLang node.
const firstUp = sglLoad + sglLoaded + sglUp

// join reads files, named a.log, b.log ..., and joins their launches.
func join(t *testing.T, logs ...string) []*launch.Launch {
	t.Helper()
	var all []*launch.Launch
	for i, log := range logs {
		all = append(all, read(t, string(rune('a'+i))+".log", log)...)
	}
	return launch.Join(all)
}

// parts writes joined launches as "files outcome; ...", files with their role.
func parts(all []*launch.Launch) string {
	var out []string
	for _, l := range all {
		var names []string
		for _, f := range l.Files {
			names = append(names, strings.TrimSpace(f.Name+" "+f.Role))
		}
		out = append(out, strings.Join(names, "+")+" "+string(l.Outcome))
	}
	return strings.Join(out, "; ")
}

func TestJoin(t *testing.T) {
	prefill := "$ python3 -m sglang.launch_server --model-path /models/orca-7b --disaggregation-mode prefill\n"
	decode := "$ python3 -m sglang.launch_server --model-path /models/orca-7b --disaggregation-mode decode\n"
	router := "2026-03-01 10:00:50  INFO sglang_router_rs::server: src/server.rs:410: Starting server on 0.0.0.0:8000\n"
	head := "$ vllm serve /models/orca-70b --data-parallel-size 2 --data-parallel-size-local 1 --data-parallel-address 10.1.0.1\n"
	headless := "$ vllm serve /models/orca-70b --headless --data-parallel-size 2 --data-parallel-size-local 1 --data-parallel-start-rank 1 --data-parallel-address 10.1.0.1\n"
	waiting := "(EngineCore_DP1 pid=311) INFO 03-01 10:00:56 [core.py:500] Waiting for READY message from DP Coordinator...\n"
	for _, tc := range []struct {
		name string
		logs []string
		want string
	}{
		{"one file", []string{sglStart}, "a.log ok"},
		{"two servers of one node", []string{sglStart, sglStart}, "a.log ok; b.log ok"},
		{"two nodes", []string{nodeLog(0, rendezvous, firstUp), nodeLog(1, rendezvous, secondUp)}, "a.log node 0+b.log node 1 ok"},
		{"two nodes, given in the other order", []string{nodeLog(1, rendezvous, secondUp), nodeLog(0, rendezvous, firstUp)}, "b.log node 0+a.log node 1 ok"},
		{"the second node fails", []string{nodeLog(0, rendezvous, sglLoad), nodeLog(1, rendezvous, sglLoad+sglCrash)}, "a.log node 0+b.log node 1 failed"},
		{"the first node is not up", []string{nodeLog(0, rendezvous, sglLoad), nodeLog(1, rendezvous, secondUp)}, "a.log node 0+b.log node 1 stalled"},
		{"fails after all were up", []string{nodeLog(0, rendezvous, firstUp+sglServed), nodeLog(1, rendezvous, secondUp+sglCrash)}, "a.log node 0+b.log node 1 ready-then-failed"},
		{"stopped from outside", []string{nodeLog(0, rendezvous, sglLoad+interrupt), nodeLog(1, rendezvous, sglLoad)}, "a.log node 0+b.log node 1 stopped"},
		{"hours apart", []string{nodeLog(0, rendezvous, sglLoad), nodeLog(1, rendezvous, at("15", sglLoad))}, "a.log stalled; b.log stalled"},
		{"two attempts of two nodes", []string{
			nodeLog(0, rendezvous, sglLoad+sglCrash) + at("14", nodeLog(0, rendezvous, firstUp)),
			nodeLog(1, rendezvous, sglLoad) + at("14", nodeLog(1, rendezvous, secondUp)),
		}, "a.log node 0+b.log node 1 failed; a.log node 0+b.log node 1 ok"},
		{"prefill, decode and router", []string{prefill + sglStart, decode + sglStart, router}, "c.log router+a.log prefill+b.log decode ok"},
		{"vLLM with a headless node", []string{head + vllmStart + vllmUp, headless + afterBanner(vllmStart) + waiting}, "a.log file 1+b.log node 1 ok"},
		{"another engine", []string{nodeLog(0, rendezvous, sglLoad), vllmStart}, "a.log stalled; b.log stalled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := parts(join(t, tc.logs...)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMissingNode(t *testing.T) {
	for _, tc := range []struct {
		name string
		logs []string
		want []string
	}{
		{"the second", []string{nodeLog(0, rendezvous, sglLoad)}, []string{"node 1"}},
		{"the first", []string{nodeLog(1, rendezvous, sglLoad)}, []string{"node 0"}},
		{"none", []string{nodeLog(0, rendezvous, sglLoad), nodeLog(1, rendezvous, sglLoad)}, nil},
		{"single node", []string{sglStart}, nil},
		{"two of four", []string{
			strings.Replace(nodeLog(0, rendezvous, sglLoad), "--nnodes 2", "--nnodes 4", 1), strings.Replace(nodeLog(2, rendezvous, sglLoad), "--nnodes 2", "--nnodes 4", 1),
		}, []string{"node 1", "node 3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := join(t, tc.logs...)[0]
			if !slices.Equal(l.Missing, tc.want) || !slices.Equal(facts(l, fact.MissingNode), tc.want) {
				t.Errorf("missing %q, facts %q; want %q", l.Missing, facts(l, fact.MissingNode), tc.want)
			}
		})
	}
}

// TestContradictions: settings on which nodes must agree, with the place of
// both.
func TestContradictions(t *testing.T) {
	good := nodeLog(0, rendezvous, sglLoad)
	for _, tc := range []struct {
		name   string
		second string
		want   []string // setting role=value line
	}{
		{"none", nodeLog(1, rendezvous, sglLoad), nil},
		{"rendezvous", nodeLog(1, "10.1.0.2:5000", sglLoad), []string{"rendezvous node 1=10.1.0.2:5000 b.log:1", "rendezvous node 0=10.1.0.1:5000 a.log:1"}},
		{"tp", strings.Replace(nodeLog(1, rendezvous, sglLoad), "--tp 16", "--tp 8", 1), []string{"tp node 1=8 b.log:1", "tp node 0=16 a.log:1"}},
		{"model", strings.Replace(nodeLog(1, rendezvous, sglLoad), "70b", "7b", 1), []string{"model node 1=/models/orca-7b b.log:1", "model node 0=/models/orca-70b a.log:1"}},
		{"node rank", nodeLog(0, rendezvous, sglLoad), []string{"node-rank b.log=0 b.log:1", "node-rank a.log=0 a.log:1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := join(t, good, tc.second)[0]
			var got []string
			l.Facts.Each(fact.Mismatch, func(f fact.Fact) {
				got = append(got, fmt.Sprintf("%s %s=%s %s:%d", f.Value, f.Rank, f.Unit, f.Pos.File, f.Pos.Line))
			})
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestPDMayDiffer: prefill and decode servers are launches of their own with
// settings of their own.
func TestPDMayDiffer(t *testing.T) {
	l := join(t,
		"$ python3 -m sglang.launch_server --model-path /models/orca-7b --tp 2 --disaggregation-mode prefill\n"+sglStart,
		"$ python3 -m sglang.launch_server --model-path /models/orca-7b --tp 4 --disaggregation-mode decode\n"+sglStart)
	if len(l) != 1 || len(facts(l[0], fact.Mismatch)) != 0 {
		t.Errorf("%s, contradictions %q", parts(l), facts(l[0], fact.Mismatch))
	}
}

// TestJoinedOrder: lines of several files come in the order of their clocks,
// and keep their own file's order.
func TestJoinedOrder(t *testing.T) {
	crash := func(second string) string { return strings.ReplaceAll(sglCrash, "10:02:00", "10:02:"+second) }
	l := join(t, nodeLog(0, rendezvous, sglLoad+crash("30")), nodeLog(1, rendezvous, sglLoad+crash("10")))[0]
	last := -1
	lines := make(map[string]int)
	for _, ev := range l.Events {
		if ev.Seq < last || ev.Pos.Line < lines[ev.Pos.File] {
			t.Errorf("%s:%d has place %d behind %d", ev.Pos.File, ev.Pos.Line, ev.Seq, last)
		}
		last, lines[ev.Pos.File] = ev.Seq, ev.Pos.Line
	}
	quits := launchtest.Events(l, "SGL-WRAP-SIGQUIT-CHILD")
	if len(quits) != 2 || quits[0].Pos.File != "b.log" || quits[1].Pos.File != "a.log" {
		t.Fatalf("failures %+v, want the second node's first", quits)
	}
	if l.FailSeq > quits[0].Seq || l.FailSeq < 0 {
		t.Errorf("the launch fails at place %d, behind the second node at %d", l.FailSeq, quits[0].Seq)
	}
	if len(l.Traces) != 2 {
		t.Errorf("%d tracebacks; those of different nodes are different", len(l.Traces))
	}
}

// TestEnded tells how the processes of each file ended.
func TestEnded(t *testing.T) {
	for _, tc := range []struct{ rest, want string }{
		{sglLoad, "log ends"},
		{sglLoad + sglCrash, "failed"},
		{sglLoad + interrupt, launch.StoppedOutside},
		{sglLoad + "[2026-03-01 10:00:44] Dummy health check server stopped at 127.0.0.1:30000\n", "exited"},
	} {
		l := join(t, nodeLog(0, rendezvous, sglLoad), nodeLog(1, rendezvous, tc.rest))[0]
		if got := l.File("b.log").Ended; got != tc.want {
			t.Errorf("%q: ended %q, want %q", tc.rest, got, tc.want)
		}
	}
}

// TestSurvived: a process goes on when it makes progress afterwards.
func TestSurvived(t *testing.T) {
	l := join(t, nodeLog(0, rendezvous, sglLoad+sglLoaded), nodeLog(1, rendezvous, sglLoad))[0]
	seq := -1
	for _, m := range l.Milestones {
		if m.Line.ID == "SGL-LOAD-BEGIN" {
			seq = max(seq, m.Seq)
		}
	}
	for _, tc := range []struct {
		file, proc string
		want       bool
	}{
		{"a.log", "TP0", true}, {"a.log", "TP1", false}, {"a.log", launch.Anyone, true}, {"b.log", "TP0", false}, {"b.log", launch.Anyone, false},
	} {
		if got := l.Survived(seq, tc.file, tc.proc); got != tc.want {
			t.Errorf("%s %s: survived %v", tc.file, tc.proc, got)
		}
	}
	if l.Outcome != finding.Stalled {
		t.Errorf("outcome %s", l.Outcome)
	}
}
