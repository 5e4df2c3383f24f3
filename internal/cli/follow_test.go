package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"shakedown/internal/launch"
)

// lockedBuffer is written by the command and read by the test at once.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

const growing = `$ vllm serve /models/heron-8b
INFO 03-02 09:14:05 [api_server.py:1977] vLLM API server version 0.14.0
INFO 03-02 09:14:05 [utils.py:253] non-default args: {'model_tag': '/models/heron-8b', 'model': '/models/heron-8b'}
`

const itsEnd = `(EngineCore_DP0 pid=77) ERROR 03-02 09:15:40 [core.py:936] EngineCore failed to start.
(EngineCore_DP0 pid=77) ERROR 03-02 09:15:40 [core.py:936] Traceback (most recent call last):
(EngineCore_DP0 pid=77) ERROR 03-02 09:15:40 [core.py:936]   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 927, in run_engine_core
(EngineCore_DP0 pid=77) ERROR 03-02 09:15:40 [core.py:936]     engine_core = EngineCoreProc(*args, **kwargs)
(EngineCore_DP0 pid=77) ERROR 03-02 09:15:40 [core.py:936] ModuleNotFoundError: No module named 'heronlib'
(APIServer pid=70) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
`

// TestFollow: a launch that ends is reported while the log is still open.
func TestFollow(t *testing.T) {
	log := filepath.Join(t.TempDir(), "server.log")
	if err := os.WriteFile(log, []byte(growing), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := new(lockedBuffer)
	w, _, _ := newWorld("explain", "--follow", log)
	w.Stdout = out
	done := make(chan int, 1)
	go func() { done <- Main(ctx, *w) }()

	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(itsEnd); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for !strings.Contains(out.String(), "heronlib") {
		if time.Now().After(deadline) {
			t.Fatalf("no report of the launch that ended; so far:\n%s", out.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
	cancel()
	if code := <-done; code != 3 && code != 130 {
		t.Errorf("exit code %d, want 3 or 130", code)
	}
}

func TestLiveWords(t *testing.T) {
	for _, tc := range []struct {
		in   launch.Live
		want string
	}{
		{launch.Live{Seconds: -1}, "starting"},
		{launch.Live{Milestone: "loading weights", Progress: "8/47", Seconds: 31}, "loading weights 8/47, 31s"},
		{launch.Live{Milestone: "ready", Seconds: 164, Ended: true}, "ready, 2m44s, ended; waiting for its last lines"},
	} {
		if got := liveWords(tc.in); got != tc.want {
			t.Errorf("liveWords(%+v) = %q, want %q", tc.in, got, tc.want)
		}
	}
}
