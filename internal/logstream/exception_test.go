package logstream

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// track feeds a log and returns one letter per line and its tracebacks.
func track(log string) (classes string, tracebacks []Traceback) {
	const letters = "LOTFSEMCN" // in the order of the Class constants
	var tr Tracker
	for i, line := range strings.Split(strings.TrimSuffix(log, "\n"), "\n") {
		p := ParsePrefix([]byte(line))
		class := tr.Feed(i+1, p, []byte(line)[p.Len:])
		classes += string(letters[class])
		tracebacks = append(tracebacks, tr.Take()...)
	}
	return classes, append(tracebacks, tr.Flush()...)
}

// summary writes a traceback's chain as "link type[frames] at-end" items.
func summary(tbs []Traceback) []string {
	var out []string
	for _, tb := range tbs {
		s := fmt.Sprintf("%d-%d %s%s", tb.First, tb.Last, tb.Tag, tb.Rank)
		for _, e := range tb.Chain {
			s += fmt.Sprintf(" | %s%s[%d] %d-%d", e.Link, e.Type, len(e.Frames), e.At, e.End)
		}
		out = append(out, s)
	}
	return out
}

func TestTracker(t *testing.T) {
	tests := []struct {
		name, log, classes string
		want               []string
	}{
		{"plain", `Traceback (most recent call last):
  File "/srv/app.py", line 3, in <module>
    main()
    ~~~~^^
  File "/srv/app.py", line 9, in main
    raise ValueError("x")
ValueError: x
`, "TFSSFSE", []string{"1-7  | ValueError[2] 7-7"}},
		{"chain", `Traceback (most recent call last):
  File "a.py", line 1, in f
    x()
KeyError: 'w'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 2, in g
    y()
ValueError: no w

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "a.py", line 3, in h
RuntimeError: load failed
see the manual
`, "TFSEOCOTFSEOCOTFEM", []string{"1-18  | KeyError[1] 4-4 | contextValueError[1] 11-11 | causeRuntimeError[1] 17-18"}},
		{"sglang ranks", `[2026-01-02 03:04:05 TP1] Scheduler hit an exception: Traceback (most recent call last):
  File "s.py", line 1, in run
    step()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.

[2026-01-02 03:04:05 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "s.py", line 1, in run
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.

[2026-01-02 03:04:06] Received sigquit from a child process.
`, "TFSEOTFEOL", []string{"1-4 TP1 | torch.OutOfMemoryError[1] 4-4", "6-8 TP0 | torch.OutOfMemoryError[1] 8-8"}},
		{"vllm interleaved", `(Worker_TP0 pid=1) ERROR 01-02 03:04:05 [m.py:9] WorkerProc hit an exception.
(Worker_TP0 pid=1) ERROR 01-02 03:04:05 [m.py:9] Traceback (most recent call last):
(Worker_TP1 pid=2) ERROR 01-02 03:04:05 [m.py:9] Traceback (most recent call last):
(Worker_TP0 pid=1) ERROR 01-02 03:04:05 [m.py:9]   File "w.py", line 1, in run
(Worker_TP1 pid=2) ERROR 01-02 03:04:05 [m.py:9]   File "w.py", line 1, in run
(Worker_TP1 pid=2) ERROR 01-02 03:04:05 [m.py:9]     go()
(Worker_TP0 pid=1) ERROR 01-02 03:04:05 [m.py:9]     go()
(Worker_TP0 pid=1) ERROR 01-02 03:04:05 [m.py:9] RuntimeError: boom
(Worker_TP0 pid=1) ERROR 01-02 03:04:05 [m.py:9] 
(Worker_TP0 pid=1) ERROR 01-02 03:04:05 [m.py:9] more of it
(Worker_TP1 pid=2) ERROR 01-02 03:04:05 [m.py:9] RuntimeError: boom
(Worker_TP0 pid=1) INFO 01-02 03:04:05 [m.py:11] exit
`, "LTTFFSSELMEL", []string{"2-10 Worker_TP0TP0 | RuntimeError[1] 8-10", "3-11 Worker_TP1TP1 | RuntimeError[1] 11-11"}},
		{"vllm second copy", `(EngineCore pid=7) ERROR 01-02 03:04:05 [core.py:1] Traceback (most recent call last):
(EngineCore pid=7) ERROR 01-02 03:04:05 [core.py:1]   File "c.py", line 1, in f
(EngineCore pid=7) ERROR 01-02 03:04:05 [core.py:1] ValueError: x
(EngineCore pid=7) Process EngineCore:
(EngineCore pid=7) Traceback (most recent call last):
(EngineCore pid=7)   File "c.py", line 1, in f
(EngineCore pid=7) ValueError: x
(APIServer pid=1) RuntimeError: Engine core initialization failed.
`, "TFELTFEE", []string{"1-3 EngineCore | ValueError[1] 3-3", "5-7 EngineCore | ValueError[1] 7-7", "8-8 APIServer | RuntimeError[0] 8-8"}},
		{"torch rank", `[rank0]: Traceback (most recent call last):
[rank0]:   File "c.py", line 1, in f
[rank0]:     g()
[rank0]: RuntimeError: NCCL error: unhandled system error
`, "TFSE", []string{"1-4 rank0 | RuntimeError[1] 4-4"}},
		{"interrupted frames", `Traceback (most recent call last):
  File "c.py", line 1, in f
INFO 01-02 03:04:05 [x.py:1] other process
    g()
ValueError: x
`, "TFLSE", []string{"1-5  | ValueError[1] 5-5"}},
		{"message of several lines", `Traceback (most recent call last):
  File "c.py", line 1, in f
RuntimeError: Ninja build failed. Ninja output:
ninja: Entering directory '/root/cache'
[1/2] nvcc -c a.cu
FAILED: [code=1] a.o
/x/a.cuh(7): error: no suitable conversion function

          detected during instantiation

1 error detected in the compilation of "a.cu".
ninja: build stopped: subcommand failed.
Killed
`, "TFEMMMMOMOMMO", []string{"1-12  | RuntimeError[1] 3-12"}},
		{"pydantic", `Traceback (most recent call last):
  File "c.py", line 1, in f
pydantic_core._pydantic_core.ValidationError: 1 validation error for LlmArgs
  Value error, max_batch_size [9] is greater than 8 [type=value_error]
    For further information visit https://example.com
`, "TFEMM", []string{"1-5  | pydantic_core._pydantic_core.ValidationError[1] 3-5"}},
		{"cuda message, blank lines, chain", `Traceback (most recent call last):
  File "c.py", line 1, in f
torch.AcceleratorError: CUDA error: device-side assert triggered
Compile with TORCH_USE_CUDA_DSA to enable device-side assertions.


During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "c.py", line 2, in g
AssertionError
`, "TFEMOOCOTFE", []string{"1-11  | torch.AcceleratorError[1] 3-4 | contextAssertionError[1] 11-11"}},
		{"no header", `    step()
  File "c.py", line 1, in f
    g()
KeyboardInterrupt: terminated
`, "OFSE", []string{"2-4  | KeyboardInterrupt[1] 4-4"}},
		{"no end", `Traceback (most recent call last):
  File "c.py", line 1, in f
[2026-01-02 03:04:05] next
`, "TFL", []string{"1-2  | [1] 0-0"}},
		{"cuts and markers", `Traceback (most recent call last):
  File "c.py", line 1, in f
    g(
    ...<7 lines>...
    )
...
  File "c.py", line 5, in g
    g()
  [Previous line repeated 993 more times]
RecursionError: maximum recursion depth exceeded
`, "TFSSSSFSSE", []string{"1-10  | RecursionError[2] 10-10"}},
		{"syntax error", `Traceback (most recent call last):
  File "a.py", line 1, in <module>
    import b
  File "b.py", line 3
    foo(
       ^
SyntaxError: '(' was never closed
`, "TFSFSSE", []string{"1-7  | SyntaxError[2] 7-7"}},
		{"ray remote", `(Driver pid=3) Traceback (most recent call last):
(Driver pid=3)   File "d.py", line 1, in get
(Driver pid=3) ray.exceptions.RayTaskError(ImportError): ray::Worker.f() (pid=687, ip=3)
(Driver pid=3)   File "w.py", line 2, in f
(Driver pid=3)     import x
(Driver pid=3) ImportError: No module named 'x'
`, "TFEFSE", []string{"1-6 Driver | ImportError[1] 6-6 | causeray.exceptions.RayTaskError(ImportError)[1] 3-3"}},
		{"pool", `Traceback (most recent call last):
  File "p.py", line 1, in main
multiprocessing.pool.RemoteTraceback: 
"""
Traceback (most recent call last):
  File "p.py", line 2, in work
OSError: no
"""

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "p.py", line 3, in get
OSError: no
`, "TFEMTFEMOCOTFE", []string{"1-14  | OSError[1] 7-8 | causemultiprocessing.pool.RemoteTraceback[1] 3-4 | causeOSError[1] 14-14"}},
		{"group", `  + Exception Group Traceback (most recent call last):
  |   File "g.py", line 1, in run
  |     raise ExceptionGroup("two", errs)
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "g.py", line 2, in a
    | ValueError: a
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "g.py", line 3, in b
    | KeyError: 'b'
    +------------------------------------
`, "TFSEOTFEOTFEO", []string{"1-12  | ValueError[1] 8-8 | KeyError[1] 12-12 | causeExceptionGroup[1] 4-4"}},
		{"native frames in a message", `Traceback (most recent call last):
  File "c.py", line 1, in f
RuntimeError: CUDA error: out of memory
Exception raised from check at /x/a.cpp:43 (most recent call first):
frame #0: c10::Error::Error() + 0x96 (0x7f2a33b1a446 in /x/libc10.so)
frame #1: main + 0x2 (0x7f2a33b1a447 in /x/b.so)

`, "TFENNNO", []string{"1-6  | RuntimeError[1] 3-3"}},
		{"native dumps", `Fatal Python error: Bus error

Thread 0x00007976472006c0 (most recent call first):
  File "t.py", line 327 in wait
  File "t.py", line 12 in run
Pyspy dump for PID 269:
Thread 269 (active): "MainThread"
    forward (m/model.py:12)
    run (m/worker.py:3)

#0  0x00007f1a2b3c4d5e in wait4 () from /lib/libc.so.6
#12 0x00005555aabb in main ()
1       0x7f5b8c0b2b3e tensorrt_llm::executor() + 1374
./llama-cli(+0x2587b5)[0x55a5b0c1d2e3]
[67d371949311:01722] [ 0] /lib/libc.so.6(+0x42520) [0x7f3c54c42520]
`, "OONNNONNNONNNNN", nil},
		{"CANN", `EI9999: Inner Error!
        TraceBack (most recent call last):
        Task execute failed, device_id=2
`, "OOO", nil},
		{"exception without traceback", `ERROR 01-02 03:04:05 [core.py:210] RuntimeError: no GPU
WARNING 01-02 03:04:06 [core.py:211] RuntimeError: ignored
triton.runtime.errors.OutOfResources: out of resource: shared memory
Error: not a class
`, "ELEM", []string{"1-1  | RuntimeError[0] 1-1", "3-4  | triton.runtime.errors.OutOfResources[0] 3-4"}},
		{"end of a message", `Traceback (most recent call last):
  File "c.py", line 1, in f
ValueError: x
user@host:~$ nvidia-smi
Traceback (most recent call last):
  File "c.py", line 1, in f
ValueError: x
/x/y.py:12: UserWarning: leaked semaphore
Killed
`, "TFEOTFEOO", []string{"1-3  | ValueError[1] 3-3", "5-7  | ValueError[1] 7-7"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			classes, tbs := track(tt.log)
			if classes != tt.classes {
				t.Errorf("classes %s, want %s", classes, tt.classes)
			}
			if diff := cmp.Diff(tt.want, summary(tbs)); diff != "" {
				t.Errorf("tracebacks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTracebackContent(t *testing.T) {
	_, tbs := track(`(Worker_TP3 pid=9) ERROR 01-02 03:04:05 [m.py:9] WorkerProc failed to start.
(Worker_TP3 pid=9) ERROR 01-02 03:04:05 [m.py:9] Traceback (most recent call last):
(Worker_TP3 pid=9) ERROR 01-02 03:04:05 [m.py:9]   File "/srv/w.py", line 12, in load
(Worker_TP3 pid=9) ERROR 01-02 03:04:05 [m.py:9]     model.load()
(Worker_TP3 pid=9) ERROR 01-02 03:04:05 [m.py:9]     ^^^^^^^^^^^^
(Worker_TP3 pid=9) ERROR 01-02 03:04:05 [m.py:9] ValueError: two
(Worker_TP3 pid=9) ERROR 01-02 03:04:05 [m.py:9] lines
`)
	at := ParsePrefix([]byte("INFO 01-02 03:04:05 [m.py:9] x")).Time
	want := []Traceback{{
		First: 2, Last: 7, Tag: "Worker_TP3", PID: 9, Rank: rank(func(r *Rank) { r.TP = 3 }), Time: at,
		Wrapped: "WorkerProc failed to start.",
		Chain: []Exception{{
			Type: "ValueError", Message: "two", At: 6, End: 7, Texts: []string{"ValueError: two", "lines"},
			Frames: []Frame{{File: "/srv/w.py", Line: 12, Func: "load", Source: "model.load()", At: 3}},
		}},
	}}
	if diff := cmp.Diff(want, tbs, cmp.AllowUnexported(Time{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTracebackAnnounced(t *testing.T) {
	const body = "\n  File \"a.py\", line 1, in f\nValueError: x\n"
	tests := map[string]string{
		"[2026-01-02 03:04:05 TP0] Scheduler hit an exception: Traceback (most recent call last):": "Scheduler hit an exception:",
		"Exception ignored in: <function X>\nTraceback (most recent call last):":                   "Exception ignored in: <function X>",
		"ERROR:    Exception in ASGI application\nTraceback (most recent call last):":              "Exception in ASGI application",
		"some text\nTraceback (most recent call last):":                                            "",
	}
	for log, want := range tests {
		_, tbs := track(log + body)
		if len(tbs) != 1 || tbs[0].Wrapped != want {
			t.Errorf("%q: %+v, want it announced by %q", log, tbs, want)
		}
	}
}

func TestTrackerBounds(t *testing.T) {
	var log strings.Builder
	log.WriteString("Traceback (most recent call last):\n")
	for i := range 1000 {
		fmt.Fprintf(&log, "  File \"f%d.py\", line %d, in f\n", i, i)
	}
	log.WriteString("ValueError: " + strings.Repeat("x", 10000) + "\n")
	for range 1000 {
		log.WriteString("more\n")
	}
	_, tbs := track(log.String())
	if len(tbs) != 1 || len(tbs[0].Chain) != 1 {
		t.Fatalf("%d tracebacks", len(tbs))
	}
	e := tbs[0].Chain[0]
	if len(e.Frames) != maxFrames || len(e.Texts) != maxTexts || len(e.Message) != maxText {
		t.Errorf("kept %d frames, %d texts, %d bytes", len(e.Frames), len(e.Texts), len(e.Message))
	}
	if first, last := e.Frames[0].Line, e.Frames[maxFrames-1].Line; first != 0 || last != 999 {
		t.Errorf("frames %d to %d, want the outermost and the innermost", first, last)
	}
	if want := 1000 - maxFrames + 1001 - maxTexts; e.Dropped != want || e.End != 2002 {
		t.Errorf("dropped %d until line %d, want %d until 2002", e.Dropped, e.End, want)
	}
}

func TestTrackerManyProcesses(t *testing.T) {
	var tr Tracker
	header := []byte("Traceback (most recent call last):")
	n := 0
	for i := range 10 * maxOpen {
		tr.Feed(i+1, Prefix{Tag: "Worker", PID: i + 1, Rank: NoRank, Len: 1}, header)
		if len(tr.open) > maxOpen {
			t.Fatalf("%d unfinished tracebacks", len(tr.open))
		}
		n += len(tr.Take())
	}
	if n += len(tr.Flush()); n != 10*maxOpen {
		t.Errorf("%d tracebacks, want %d", n, 10*maxOpen)
	}
}

func TestIsErrorLike(t *testing.T) {
	tests := map[string]bool{
		"ERROR 01-02 03:04:05 [core.py:1] EngineCore failed to start.": true,
		"ERROR 01-02 03:04:05 [core.py:1]     indented dump":           false,
		"[TensorRT-LLM][ERROR] Assertion failed":                       true,
		"F0227 14:34:03.337682 38 a.cpp:265] check":                    true,
		"ValueError: x": true,
		"[2026-01-02 03:04:05 TP0] import failed with ImportError: x":          true,
		"INFO 01-02 03:04:05 [a.py:1] retry after ValueError: x":               true,
		"INFO 01-02 03:04:05 [a.py:1] fatal error: core dumped":                false,
		"INFO:     error handler installed":                                    false,
		"/x/a.cuh(7): error: no suitable conversion":                           true,
		"nvcc fatal   : Unsupported gpu architecture 'sm_120a'":                true,
		"a non-fatal problem":                                                  false,
		"that is not fatal":                                                    false,
		"a.c:7: GGML_ASSERT(x == y) failed":                                    true,
		"python: m.cpp:3: Assertion `x > 0' failed.":                           true,
		"tl.static_assert(A >= B)":                                             false,
		"Segmentation fault (core dumped)":                                     true,
		"Killed":                                                               true,
		"killed the old server":                                                false,
		"free(): double free detected in tcache 2":                             true,
		"CUDA Error: out of memory at a.cpp:139":                               true,
		"LLVM ERROR: Unsupported rounding mode":                                true,
		"thread 'main' panicked at src/main.rs:3":                              true,
		"[2026-01-02 03:04:05] server_args=ServerArgs(crash=1, error: x)":      false,
		"args: Namespace(on_error='abort', ERROR: x)":                          false,
		"error_count=0, 0 errors":                                              false,
		"$ serve --log-level error":                                            false,
		"see /var/log/error: none":                                             false,
		"INFO 01-02 03:04:05 [a.py:1] non-default args: {'x': 'ValueError: '}": false,
		"": false,
		"Loading safetensors checkpoint shards:  73% Completed | 8/11 [00:33<00:12]": false,
	}
	for line, want := range tests {
		p := ParsePrefix([]byte(line))
		if got := IsErrorLike(p, []byte(line)[p.Len:]); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func TestTemplate(t *testing.T) {
	tests := map[string]string{
		"Tried to allocate 12.50 GiB. GPU 3 has 287 GiB":       "Tried to allocate # GiB. GPU # has # GiB",
		"Connection closed by peer [10.1.2.3]:40221":           "Connection closed by peer [#]:#",
		"at 2026-01-02 03:04:05.123 on TP7":                    "at # # on TP#",
		"failed to open '/m/a.gguf': no such file":             "failed to open <str>: no such file",
		"cannot load /opt/lib/a-b.so.1: x":                     "cannot load <path>: x",
		"either/or a / b":                                      "either/or a / b",
		"address 0x7f9568000000 hash 96f1a2b3c4 id 3e4-deadbe": "address <hex> hash <hex> id <hex>",
		"can't open, don't care":                               "can't open, don't care",
		"deadbeef feedface":                                    "deadbeef feedface",
		"":                                                     "",
	}
	for text, want := range tests {
		if got := Template([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if n := len(Template(bytes.Repeat([]byte("word "), 1000))); n > maxTemplate {
		t.Errorf("template of %d bytes", n)
	}
}

// FuzzTracker checks that any log gives tracebacks within its lines and bounds.
func FuzzTracker(f *testing.F) {
	for _, seed := range []string{
		"Traceback (most recent call last):\n  File \"a\", line 1, in f\n    g()\nValueError: x\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\nKeyError\n",
		"[2026-01-02 03:04:05 TP1] hit: Traceback (most recent call last):\n  File \"a\", line 1, in f\nValueError: x\n[2026-01-02 03:04:05] y\n",
		"(W pid=1) Traceback (most recent call last):\n(V pid=2) Traceback (most recent call last):\n(W pid=1)   File \"a\", line 1, in f\n(W pid=1) KeyError: 1\n",
		"  + Exception Group Traceback (most recent call last):\n  | E: x\n  +-+---- 1 ----\n    | Traceback (most recent call last):\n    | ValueError: a\n",
		"a.B(c): x\nray.exceptions.RayTaskError(E): x\n  File \"a\", line 1, in f\nE: x\n",
		"Thread 269 (active): \"Main\"\n    f (a.py:1)\n#0  0x00007f1a2b in x\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		var tr Tracker
		var tbs []Traceback
		lines := bytes.Split(log, []byte("\n"))
		for i, line := range lines {
			Segments(line, func(seg []byte) {
				p := ParsePrefix(seg)
				tr.Feed(i+1, p, seg[p.Len:])
				IsErrorLike(p, seg[p.Len:])
				if s := Template(seg[p.Len:]); len(s) > maxTemplate+len("<path>") {
					t.Fatalf("template of %d bytes", len(s))
				}
			})
			tbs = append(tbs, tr.Take()...)
		}
		for _, tb := range append(tbs, tr.Flush()...) {
			if tb.First < 1 || tb.Last < tb.First || tb.Last > len(lines) || len(tb.Chain) > maxChain {
				t.Fatalf("traceback out of range: %+v", tb)
			}
			for _, e := range tb.Chain {
				if len(e.Frames) > maxFrames || len(e.Texts) > maxTexts || e.End < e.At || e.End > tb.Last {
					t.Fatalf("exception out of range: %+v", e)
				}
			}
		}
	})
}
