package llamacpp_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/engine/llamacpp"
	"shakedown/internal/enginetest"
)

func TestLines(t *testing.T) {
	enginetest.Check(t, &llamacpp.Engine, filepath.Join("testdata", "examples.txt"))
}

func TestLogs(t *testing.T) {
	required := []string{"loading model", "slots", "model loaded", "listening"}
	tests := []struct {
		file       string
		milestones []string
		has        []string // ids that must be in it
	}{
		{"healthy-2026.log", []string{"loading model", "threads started", "slots", "model loaded", "listening"},
			[]string{"LCP-INIT", "LCP-SERVED", "LCP-EXIT"}},
		{"healthy-2026-verbose.log", []string{"HTTP port", "loading model", "context created", "KV cache", "compute buffers", "threads started", "warm-up", "slots", "model loaded", "listening"},
			[]string{"LCP-BREAKDOWN", "LCP-FA-001"}},
		{"healthy-2025.log", []string{"HTTP port", "loading model", "context created", "KV cache", "compute buffers", "warm-up", "slots", "model loaded", "listening"},
			[]string{"LCP-BUILD", "LCP-GPU-CUDA", "LCP-USING-DEVICE"}},
		{"oom-compute-2025.log", []string{"HTTP port", "loading model", "context created", "KV cache"},
			[]string{"LCP-FATAL-CONTEXT", "LCP-WRAP-CONTEXT", "LCP-WRAP-EXIT-LOAD"}},
		{"old-gguf-2026.log", []string{"loading model"},
			[]string{"LCP-FATAL-LOAD", "LCP-NOISE-FIT-ERROR", "LCP-EXIT", "LCP-WRAP-EXIT-LOAD"}},
		{"assert-2024.log", []string{"loading model", "context created", "KV cache", "compute buffers", "warm-up"},
			[]string{"LCP-BUILD-CLI", "LCP-ARCH-2024", "LCP-FATAL-ASSERT"}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			ids := enginetest.Replay(t, &llamacpp.Engine, filepath.Join("testdata", tt.file))
			milestones := enginetest.Milestones(&llamacpp.Engine, ids)
			if diff := cmp.Diff(tt.milestones, milestones); diff != "" {
				t.Errorf("milestones (-want +got)\n%s", diff)
			}
			for _, id := range tt.has {
				if !slices.Contains(ids, id) {
					t.Errorf("no %s in %q", id, ids)
				}
			}
			if strings.HasPrefix(tt.file, "healthy") {
				for _, name := range required {
					if !slices.Contains(milestones, name) {
						t.Errorf("a healthy log does not reach %q", name)
					}
				}
			}
		})
	}
}

// TestEarlyListening: the server of 2025 says that it listens before it has
// loaded the model.
func TestEarlyListening(t *testing.T) {
	ids := enginetest.Replay(t, &llamacpp.Engine, filepath.Join("testdata", "oom-compute-2025.log"))
	if slices.Contains(ids, "LCP-READY") {
		t.Errorf("a server that never loaded its model is ready: %q", ids)
	}
}

// TestDraftIsNoRestart: what a draft model repeats must not begin a new launch,
// so no milestone of the load phase may repeat.
func TestDraftIsNoRestart(t *testing.T) {
	ids := enginetest.Replay(t, &llamacpp.Engine, filepath.Join("testdata", "draft-2026.log"))
	loads := 0
	for _, id := range ids {
		if id == "LCP-LOAD" {
			loads++
		}
	}
	if loads != 1 {
		t.Errorf("%d loads of the main model, want 1: %q", loads, ids)
	}
	if !slices.Contains(ids, "LCP-SPEC-002") {
		t.Errorf("the dropped draft is not a choice: %q", ids)
	}
}
