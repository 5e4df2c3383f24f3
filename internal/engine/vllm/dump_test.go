package vllm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/engine"
)

func TestParseDump(t *testing.T) {
	tests := []struct {
		name, text string
		effective  bool
		want       []engine.Setting
	}{
		{"what was asked", `non-default args: {'model_tag': 'a/b', 'max_model_len': 8192, 'served_model_name': ['x', 'y'], 'kv_cache_dtype': 'fp8', 'enable_prefix_caching': False}`, false,
			[]engine.Setting{{Name: "model_tag", Value: "a/b"}, {Name: "model.max_model_len", Value: "8192"}, {Name: "model.served_model_name", Value: "['x', 'y']"},
				{Name: "cache.cache_dtype", Value: "fp8"}, {Name: "cache.enable_prefix_caching", Value: "False"}}},
		{"objects among the arguments", `non-default args: {'lora_modules': [LoRAModulePath(name='a, b', path='/l}')], 'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 3}, 'compilation_config': {'level': 3, 'pass_config': {'fuse_norm_quant': True}}}`, false,
			[]engine.Setting{{Name: "lora_modules", Value: "[LoRAModulePath(name='a, b', path='/l}')]"}, {Name: "speculative.method", Value: "mtp"},
				{Name: "speculative.num_speculative_tokens", Value: "3"}, {Name: "compilation.level", Value: "3"}, {Name: "pass.fuse_norm_quant", Value: "True"}}},
		{"parsed arguments", `args: Namespace(host=None, allowed_origins=['*'], config_format=<ConfigFormat.AUTO: 'auto'>, tensor_parallel_size=2, dispatch_function=<function serve at 0x7f>)`, true,
			[]engine.Setting{{Name: "host", Value: "None"}, {Name: "allowed_origins", Value: "['*']"}, {Name: "model.config_format", Value: "auto"},
				{Name: "parallel.tensor_parallel_size", Value: "2"}, {Name: "dispatch_function", Value: "<function serve at 0x7f>"}}},
		{"V1 engine", `Initializing a V1 LLM engine (v0.25.1) with config: model='a/b', speculative_config=SpeculativeConfig(method='mtp', num_spec_tokens=2), dtype=torch.bfloat16, max_seq_len=4096, kv_cache_dtype=auto,  device_config=cuda, served_model_name=x, compilation_config={'mode': <CompilationMode.VLLM_COMPILE: 3>, 'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'splitting_ops': ['vllm::a', 'b'], 'cache_dir': ''}, kernel_config=KernelConfig(ir_op_priority=IrOpPriorityConfig(rms_norm=['native']), moe_backend='auto')`, true,
			[]engine.Setting{{Name: "version", Value: "0.25.1"}, {Name: "model.model", Value: "a/b"}, {Name: "speculative.method", Value: "mtp"}, {Name: "speculative.num_speculative_tokens", Value: "2"},
				{Name: "model.dtype", Value: "torch.bfloat16"}, {Name: "model.max_model_len", Value: "4096"}, {Name: "cache.cache_dtype", Value: "auto"}, {Name: "device.device", Value: "cuda"},
				{Name: "model.served_model_name", Value: "x"}, {Name: "compilation.mode", Value: "VLLM_COMPILE"}, {Name: "compilation.cudagraph_mode", Value: "FULL_AND_PIECEWISE"},
				{Name: "compilation.splitting_ops", Value: "['vllm::a', 'b']"}, {Name: "compilation.cache_dir", Value: ""},
				{Name: "kernel.ir_op_priority", Value: "IrOpPriorityConfig(rms_norm=['native'])"}, {Name: "kernel.moe_backend", Value: "auto"}}},
		{"JSON inside", `Initializing a V1 LLM engine (v0.8.4) with config: model='m', load_format=LoadFormat.AUTO, compilation_config={"level":3,"use_inductor":true,"custom_ops":["none"],"local_cache_dir":null}`, true,
			[]engine.Setting{{Name: "version", Value: "0.8.4"}, {Name: "model.model", Value: "m"}, {Name: "load.load_format", Value: "auto"}, {Name: "compilation.level", Value: "3"},
				{Name: "compilation.use_inductor", Value: "True"}, {Name: "compilation.custom_ops", Value: `["none"]`}, {Name: "compilation.local_cache_dir", Value: "None"}}},
		{"V0 engine without a version", `Initializing an LLM engine with config: model='m', seed=0)`, true,
			[]engine.Setting{{Name: "model.model", Value: "m"}, {Name: "model.seed", Value: "0"}}},
		{"cut inside an object", `Initializing a V1 LLM engine (v0.19.1) with config: model='m', compilation_config={'mode': <CompilationMode.NONE: 0>, 'backend': 'indu`, true,
			[]engine.Setting{{Name: "version", Value: "0.19.1"}, {Name: "model.model", Value: "m"}, {Name: "compilation.mode", Value: "NONE"}, {Name: "compilation.backend", Value: "indu"}}},
		{"escapes", `non-default args: {'model': 'it\'s\\here', 'revision': "a"}`, false,
			[]engine.Setting{{Name: "model.model", Value: `it's\here`}, {Name: "model.revision", Value: "a"}}},
		{"apostrophe in a bare word", `Initializing a V1 LLM engine (v1) with config: served_model_name=bob's, seed=1`, true,
			[]engine.Setting{{Name: "version", Value: "1"}, {Name: "model.served_model_name", Value: "bob's"}, {Name: "model.seed", Value: "1"}}},
	}
	for _, tt := range tests {
		got, ok := parseDump(tt.text)
		if !ok || got.Effective != tt.effective {
			t.Errorf("%s: ok %v, effective %v, want true, %v", tt.name, ok, got.Effective, tt.effective)
		}
		if diff := cmp.Diff(tt.want, []engine.Setting(got.Settings)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestParseDumpRefuses(t *testing.T) {
	for _, text := range []string{"", "non-default args: {}", "args: Namespace()", "Initializing a V1 LLM engine (v0.9.0)", "Loading weights took 3 seconds", "non-default args: {{{{"} {
		if d, ok := parseDump(text); ok {
			t.Errorf("%q: read as %v", text, d)
		}
	}
}

// A setting of a dump has the name that the ledger and the plan use.
func TestSettingNames(t *testing.T) {
	tests := map[string]string{
		"kv_cache_dtype": "cache.cache_dtype", "max_model_len": "model.max_model_len", "max_seq_len": "model.max_model_len",
		"moe_backend": "kernel.moe_backend", "scheduling_policy": "scheduler.policy", "tool_call_parser": "tool_call_parser",
	}
	for flat, want := range tests {
		if got := settingName(flat); got != want {
			t.Errorf("%s: %q, want %q", flat, got, want)
		}
	}
	fields := 0
	for _, list := range sectionFields {
		fields += len(strings.Fields(list))
	}
	if fields+len(renamed) != len(settingNames) {
		t.Errorf("a flat name stands in two sections: %d fields and %d renamed make %d names", fields, len(renamed), len(settingNames))
	}
	for name := range Engine.Facts {
		if flat := name[strings.IndexByte(name, '.')+1:]; settingName(flat) != name && !isRenamed(name) {
			t.Errorf("no dump can hold %q", name)
		}
	}
}

func isRenamed(name string) bool {
	for _, full := range renamed {
		if full == name {
			return true
		}
	}
	return false
}

func FuzzParseDump(f *testing.F) {
	files, err := filepath.Glob("testdata/*.log")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if _, ok := parseDump(line); ok {
				f.Add(line)
			}
		}
	}
	f.Add(`args: Namespace(a=<B.C: '`)
	f.Add("non-default args: {" + strings.Repeat("'a': [", 2*maxNesting))
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := parseDump(text)
		if ok != (len(d.Settings) > 0) || len(d.Settings) > maxSettings {
			t.Fatalf("ok %v with %d settings", ok, len(d.Settings))
		}
		for _, s := range d.Settings {
			if s.Name == "" || len(s.Value) > len(text)+4 {
				t.Fatalf("setting %q with %d bytes", s.Name, len(s.Value))
			}
		}
	})
}
