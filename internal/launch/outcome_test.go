package launch_test

import (
	"slices"
	"strings"
	"testing"

	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/launch"
	"shakedown/internal/launchtest"
)

const (
	sglAssert = "/pytorch/aten/src/ATen/native/cuda/TensorCompare.cu:112: _assert_async_cuda_kernel: block: [0,0,0], thread: [0,0,0] Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed.\n"

	sglSigterm = `[2026-03-01 10:03:00] SIGTERM received. signum=None frame=None. Draining requests and shutting down...
[2026-03-01 10:03:01] Gracefully exiting... remaining number of requests 0
`
	// sglNoise is what a server that was told to stop prints while it falls apart.
	sglNoise = `[2026-03-01 10:03:02 TP1] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 2100, in run_scheduler_process
    scheduler.event_loop_overlap()
RuntimeError: connection closed by peer

[2026-03-01 10:03:02] Received sigquit from a child process. It usually means the child failed.
`
	uvicornEnd = `[2026-03-01 10:03:00] INFO:     Shutting down
[2026-03-01 10:03:01] INFO:     Finished server process [4711]
`
	interrupt = `Traceback (most recent call last):
  File "/opt/sglang/launch_server.py", line 30, in <module>
    launch_server(server_args)
KeyboardInterrupt
`
)

func TestOutcome(t *testing.T) {
	for _, tc := range []struct {
		name  string
		log   string
		want  finding.Outcome
		phase fact.Phase
	}{
		{"ready", sglStart, finding.OK, fact.Ready},
		{"ready and serving", sglStart + sglServed, finding.OK, fact.Runtime},
		{"fails while it loads", sglDump + sglLoad + sglCrash, finding.Failed, fact.Load},
		{"dies of a traceback that no line announces", sglDump + sglLoad + "Traceback (most recent call last):\n  File \"/opt/sglang/srt/x.py\", line 3, in f\n    g()\nValueError: no\n", finding.Failed, fact.Load},
		{"dies of a native error", sglDump + sglLoad + "terminate called after throwing an instance of 'std::bad_alloc'\n", finding.Failed, fact.Load},
		{"a traceback before the last milestone is survived", sglDump + "[2026-03-01 10:00:05] Cannot read the cache: Traceback (most recent call last):\n  File \"/opt/sglang/srt/x.py\", line 3, in f\n    g()\nOSError: no\n\n" + sglLoad + sglLoaded, finding.Stalled, fact.KVAlloc},
		{"fails after ready", sglStart + sglServed + sglCrash, finding.ReadyThenFailed, fact.Runtime},
		{"a symptom at the end", sglStart + sglServed + sglAssert, finding.ReadyThenFailed, fact.Runtime},
		{"a symptom that the server survives", sglStart + sglAssert + sglServed, finding.OK, fact.Runtime},
		{"ends while it loads", sglDump + sglLoad, finding.Stalled, fact.Load},
		{"service behind a start that the log shows in part", sglLoaded + sglServed, finding.OK, fact.KVAlloc},
		{"stopped while it loads", sglDump + sglLoad + interrupt, finding.Stopped, fact.Load},
		{"stopped after ready", sglStart + sglServed + sglSigterm, finding.OK, fact.Runtime},
		{"SIGTERM with noise behind it", sglStart + sglServed + sglSigterm + sglNoise, finding.OK, fact.Runtime},
		{"a failure before SIGTERM", sglStart + sglServed + sglCrash + sglSigterm, finding.ReadyThenFailed, fact.Runtime},
		{"orderly exit", sglStart + sglServed + uvicornEnd, finding.OK, fact.Runtime},
		{"vLLM ready", vllmStart + vllmUp + vllmServed, finding.OK, fact.Runtime},
		{"vLLM without its HTTP server", vllmStart, finding.Stalled, fact.Warmup},
		{"vLLM as a library", afterBanner(vllmStart), finding.OK, fact.Warmup},
		{"a vLLM command that serves HTTP itself is no library", "$ vllm serve /models/orca-7b\n" + vllmStart, finding.Stalled, fact.Warmup},
		{
			"headless vLLM node",
			"$ vllm serve /models/orca-7b --headless --data-parallel-size 2 --data-parallel-start-rank 1\n" + afterBanner(vllmStart) +
				"(EngineCore_DP1 pid=311) INFO 03-01 10:00:56 [core.py:500] Waiting for READY message from DP Coordinator...\n",
			finding.OK, fact.Warmup,
		},
		{
			"second SGLang node",
			sglDump + sglLoad + sglLoaded + "[2026-03-01 10:00:44] Dummy health check server started in background thread at 127.0.0.1:30000\n",
			finding.OK, fact.Warmup,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := readOne(t, tc.log)
			if l.Outcome != tc.want || l.Phase != tc.phase {
				t.Errorf("%s in phase %s, want %s in phase %s", l.Outcome, l.Phase, tc.want, tc.phase)
			}
		})
	}
}

// afterBanner leaves out the lines of vLLM's HTTP front end.
func afterBanner(log string) string {
	return strings.Join(strings.SplitAfter(log, "\n")[2:], "")
}

func TestOrderOfEnd(t *testing.T) {
	l := readOne(t, sglStart+sglServed+sglSigterm+sglNoise)
	if l.StopSeq < 0 || l.FailSeq < l.StopSeq || l.StopPos.Line != 14 {
		t.Errorf("stop %d in line %d, failure %d: want a stop in line 14 before a failure", l.StopSeq, l.StopPos.Line, l.FailSeq)
	}
	l = readOne(t, sglStart+sglServed+uvicornEnd)
	if l.StopPos.Line != 14 {
		t.Errorf("an orderly exit is a stop at its first line; got line %d, want 14", l.StopPos.Line)
	}
}

// TestAnswered counts the requests between ready and the first failure.
func TestAnswered(t *testing.T) {
	post := "[2026-03-01 10:01:01] INFO:     127.0.0.1:40112 - \"POST /generate HTTP/1.1\" 200 OK\n"
	l := readOne(t, sglDump+sglLoad+sglLoaded+post+sglUp+post+sglServed+sglCrash+post)
	if l.Answered != 2 || l.Served != 5 {
		t.Errorf("answered %d, signs of service %d; want 2 and 5", l.Answered, l.Served)
	}
}

// TestPhaseOfRank: a line stands in the phase of the process that printed it.
func TestPhaseOfRank(t *testing.T) {
	w := &launch.Watch{ID: "USR-TEST-001", Anchor: "where am I", In: launch.DefaultWhere}
	late := &launch.Watch{ID: "USR-TEST-002", Anchor: "where am I", In: launch.DefaultWhere, Phases: []fact.Phase{fact.KVAlloc}}
	x := launchtest.Index(t, w, late)
	all := launchtest.Read(t, x, "server.log", launch.Told{}, sglDump+sglLoad+sglLoaded+
		"[2026-03-01 10:00:31 TP0] where am I?\n[2026-03-01 10:00:31 TP1] where am I?\n[2026-03-01 10:00:31] where am I?\n")
	var got []string
	for _, ev := range launchtest.Events(all[0], w.ID) {
		got = append(got, ev.Proc()+" "+string(ev.Phase))
	}
	if want := []string{"TP0 kv-alloc", "TP1 load", " kv-alloc"}; !slices.Equal(got, want) {
		t.Errorf("phases %q, want %q", got, want)
	}
	if n := len(launchtest.Events(all[0], late.ID)); n != 2 {
		t.Errorf("a rule about one phase counted %d lines, want 2", n)
	}
}
