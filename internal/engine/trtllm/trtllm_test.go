package trtllm_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/engine"
	"shakedown/internal/engine/trtllm"
	"shakedown/internal/enginetest"
)

func TestLines(t *testing.T) {
	enginetest.Check(t, &trtllm.Engine, filepath.Join("testdata", "examples.txt"))
}

func TestLogs(t *testing.T) {
	tests := []struct {
		file       string
		milestones []string
		has        []string // ids that must be in it
		hasNot     []string
	}{
		{"healthy-pytorch.log",
			[]string{"workers starting", "workers started", "loading weights", "weights loaded", "KV cache", "autotuning", "CUDA graphs", "executor ready", "serving HTTP"},
			[]string{"TRT-BACKEND", "TRT-MODEL", "TRT-ARGS", "TRT-SERVED"}, nil},
		{"oom-kv-cache.log",
			[]string{"workers starting", "workers started", "loading weights", "weights loaded"},
			[]string{"TRT-FATAL-EXECUTOR", "TRT-WRAP-INIT", "TRT-WRAP-SESSION"}, []string{"TRT-READY"}},
		{"triton-mpi-size.log",
			nil,
			[]string{"TRT-ENGINE-FILE", "TRT-FATAL-MODEL", "TRT-WRAP-UNAVAILABLE", "TRT-WRAP-TRITON"}, []string{"TRT-READY-TRITON"}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			ids := enginetest.Replay(t, &trtllm.Engine, filepath.Join("testdata", tt.file))
			if diff := cmp.Diff(tt.milestones, enginetest.Milestones(&trtllm.Engine, ids)); diff != "" {
				t.Errorf("milestones (-want +got)\n%s", diff)
			}
			for _, id := range tt.has {
				if !slices.Contains(ids, id) {
					t.Errorf("no %s in %q", id, ids)
				}
			}
			for _, id := range tt.hasNot {
				if slices.Contains(ids, id) {
					t.Errorf("%s in %q", id, ids)
				}
			}
		})
	}
}

const dumpStart = "skip_tokenizer_init=False trust_remote_code=False "

const dump = dumpStart + "tensor_parallel_size=2 dtype='auto' " +
	"load_format=<LoadFormat.AUTO: 0> kv_cache_config=KvCacheConfig(enable_block_reuse=True, max_tokens=None, " +
	"free_gpu_memory_fraction=0.9) pipeline_parallel_size=1 sampler_type=<SamplerType.auto: 'auto'>"

func TestParseDump(t *testing.T) {
	tests := []struct {
		name, text string
		want       []engine.Setting
	}{
		{"whole", dump, []engine.Setting{
			{Name: "skip_tokenizer_init", Value: "False"},
			{Name: "trust_remote_code", Value: "False"},
			{Name: "tensor_parallel_size", Value: "2"},
			{Name: "dtype", Value: "auto"},
			{Name: "load_format", Value: "<LoadFormat.AUTO: 0>"},
			{Name: "kv_cache_config.enable_block_reuse", Value: "True"},
			{Name: "kv_cache_config.max_tokens", Value: "None"},
			{Name: "kv_cache_config.free_gpu_memory_fraction", Value: "0.9"},
			{Name: "pipeline_parallel_size", Value: "1"},
			{Name: "sampler_type", Value: "<SamplerType.auto: 'auto'>"},
		}},
		{"cut in a class", dump[:strings.Index(dump, "max_tokens")], []engine.Setting{
			{Name: "skip_tokenizer_init", Value: "False"},
			{Name: "trust_remote_code", Value: "False"},
			{Name: "tensor_parallel_size", Value: "2"},
			{Name: "dtype", Value: "auto"},
			{Name: "load_format", Value: "<LoadFormat.AUTO: 0>"},
		}},
		{"build_config of an engine file", dumpStart + "build_config=BuildConfig(max_batch_size=64) backend=None", []engine.Setting{
			{Name: "skip_tokenizer_init", Value: "False"},
			{Name: "trust_remote_code", Value: "False"},
			{Name: "build_config.max_batch_size", Value: "64"},
			{Name: "backend", Value: "None"},
		}},
		{"build_config without use", dumpStart + "build_config=BuildConfig(max_batch_size=64) backend='pytorch'", []engine.Setting{
			{Name: "skip_tokenizer_init", Value: "False"},
			{Name: "trust_remote_code", Value: "False"},
			{Name: "backend", Value: "pytorch"},
		}},
		{"another engine's", "skip_tokenizer_init=False, trust_remote_code=False", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, ok := trtllm.Engine.ParseDump(tt.text)
			if ok != (tt.want != nil) {
				t.Fatalf("ok is %v", ok)
			}
			if diff := cmp.Diff(tt.want, d.Settings); diff != "" {
				t.Errorf("settings (-want +got)\n%s", diff)
			}
			if ok && !d.Effective {
				t.Error("the dump is printed after resolution, so it is effective")
			}
		})
	}
}

func FuzzParseDump(f *testing.F) {
	f.Add(dump)
	f.Add(dump[:100])
	f.Add("skip_tokenizer_init=True trust_remote_code=((((")
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := trtllm.Engine.ParseDump(text)
		if ok != (len(d.Settings) > 0) {
			t.Errorf("ok is %v with %d settings", ok, len(d.Settings))
		}
	})
}
