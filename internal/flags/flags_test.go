package flags

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func table(t testing.TB, engine, version string) *Table {
	t.Helper()
	tab, m := Lookup(engine, version)
	if tab == nil || m.Fit != Exact {
		t.Fatalf("no exact table of %s %s: %+v", engine, version, m)
	}
	return tab
}

func TestVersions(t *testing.T) {
	for engine, want := range map[string][]string{
		"sglang":   {"0.5.2", "0.5.6.post2", "0.5.8", "0.5.8.post1", "0.5.9", "0.5.10.post1", "0.5.12.post1", "0.5.15.post1", "0.5.18", "0.5.23"},
		"vllm":     {"0.11.2", "0.16.0", "0.19.1", "0.24.0", "0.32.0"},
		"llamacpp": nil,
	} {
		if diff := cmp.Diff(want, Versions(engine)); diff != "" {
			t.Errorf("Versions(%s): %s", engine, diff)
		}
	}
}

func TestLookup(t *testing.T) {
	tests := []struct {
		engine, version string
		fit             Fit
		used            string
	}{
		{"sglang", "0.5.9", Exact, "0.5.9"},
		{"sglang", "v0.5.10.post1", Exact, "0.5.10.post1"},
		{"sglang", "0.5.9.dev604+g96abcdef0", Build, "0.5.9"},
		{"sglang", "v0.5.9-cu130", Build, "0.5.9"},
		{"sglang", "0.5.3rc0", Between, "0.5.2"},
		{"sglang", "0.5.11+05fb6a52", Between, "0.5.10.post1"},
		{"sglang", "0.5.10", Between, "0.5.9"},
		{"sglang", "0.4.6.post5", OlderThanAll, "0.5.2"},
		{"sglang", "0.6.0", NewerThanAll, "0.5.23"},
		{"sglang", "", Unversioned, "0.5.23"},
		{"sglang", "0.0.0.dev1+g12", Unversioned, "0.5.23"},
		{"vllm", "dev", Unversioned, "0.32.0"},
		{"vllm", "v0.11.1rc2.dev12+gabc", OlderThanAll, "0.11.2"},
		{"vllm", "0.18.0", Between, "0.16.0"},
		{"llamacpp", "b9010", NoTable, ""},
	}
	for _, tt := range tests {
		tab, m := Lookup(tt.engine, tt.version)
		if m.Fit != tt.fit || m.Used != tt.used {
			t.Errorf("Lookup(%s, %q) = %+v, want fit %d from %q", tt.engine, tt.version, m, tt.fit, tt.used)
		}
		if (m.Note == "") != (tt.fit == Exact) {
			t.Errorf("Lookup(%s, %q): note %q", tt.engine, tt.version, m.Note)
		}
		if (tab == nil) != (tt.fit == NoTable) {
			t.Errorf("Lookup(%s, %q): table %v", tt.engine, tt.version, tab)
		}
	}
}

// TestTablesAreWhole would fail when a release lost flags or a name led to two
// different flags.
func TestTablesAreWhole(t *testing.T) {
	sizes := map[string]int{
		"sglang 0.5.2": 210, "sglang 0.5.9": 331, "sglang 0.5.23": 531,
		"vllm 0.11.2": 155, "vllm 0.32.0": 251,
	}
	for _, engine := range []string{"sglang", "vllm"} {
		for _, version := range Versions(engine) {
			tab := table(t, engine, version)
			own := 0
			for _, f := range tab.Flags() {
				if !f.Unverified {
					own++
				}
				if f.Setting == "" || tab.Setting(f.Setting) == nil {
					t.Errorf("%s %s: %v writes no setting", engine, version, f.Names)
				}
			}
			if want, ok := sizes[engine+" "+version]; ok && own != want {
				t.Errorf("%s %s has %d flags, want %d", engine, version, own, want)
			}
		}
	}
}

func TestSettingPrefersCurrentFlag(t *testing.T) {
	tab := table(t, "sglang", "0.5.15.post1")
	if got := tab.Setting("dsa_prefill_backend").Name(); got != "--dsa-prefill-backend" {
		t.Errorf("got %s", got)
	}
	if f := tab.Setting("no_such_setting"); f != nil {
		t.Errorf("got %v", f.Names)
	}
}

func TestRefuses(t *testing.T) {
	tests := []struct {
		engine, version, flag string
		refused               bool
		reason                string // part of it
	}{
		{"sglang", "0.5.9", "--tp", false, ""},
		{"sglang", "0.5.9", "--kv-cache-dtype=bf16", false, ""},
		{"sglang", "0.5.9", "--dsa-prefill-backend", true, "--nsa-prefill-backend"},
		{"sglang", "0.5.23", "--nsa-prefill-backend", true, "--dsa-prefill-backend"},
		{"sglang", "0.5.9", "--no-such-flag-anywhere", true, "no flag of sglang 0.5.9"},
		{"sglang", "0.5.10.post1", "--enable-piecewise-cuda-graph", true, "ignored"},
		{"sglang", "0.5.18", "--disable-cuda-graph", false, ""},
		{"sglang", "0.5.9.dev604+g96", "--attention-backend", false, "build around 0.5.9"},
		{"sglang", "0.5.4", "--admin-api-key", true, "too new"},
		{"vllm", "0.20.0", "--moe-backend", false, "nearest older"},
		{"vllm", "0.12.0", "--guided-decoding-backend", true, "lies between"},
		{"vllm", "0.16.0", "--guided_decoding_backend", true, "removed"},
		{"vllm", "0.16.0", "--max_model_len", false, ""},
		{"vllm", "0.16.0", "--compilation-config.level", false, ""},
		{"vllm", "0.16.0", "--port", false, ""},
		{"llamacpp", "b9010", "--flash-attn", false, "not known"},
		{"trtllm", "1.2.0rc4", "--kv_cache_dtype", false, "not known"},
	}
	for _, tt := range tests {
		reason, refused := Refuses(tt.engine, tt.version, tt.flag)
		if refused != tt.refused || !strings.Contains(reason, tt.reason) {
			t.Errorf("Refuses(%s %s, %s) = %q, %v; want %v and %q", tt.engine, tt.version, tt.flag, reason, refused, tt.refused, tt.reason)
		}
	}
}

// asked renders the parsed settings, for comparison.
func asked(p Parsed) []string {
	var out []string
	for _, a := range p.Args {
		name := a.Setting()
		if name == "" {
			name = "?" + a.Name
		}
		out = append(out, name+"="+a.Value())
	}
	return out
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, engine, version, argv string
		want                        []string
		problems                    []ProblemKind
	}{
		{"values and switches", "sglang", "0.5.9", "--model-path=/m --tp 8 --trust-remote-code --mem-fraction-static 0.8",
			[]string{"model_path=/m", "tp_size=8", "trust_remote_code=True", "mem_fraction_static=0.8"}, nil},
		{"list", "sglang", "0.5.9", "--model m --cuda-graph-bs 1 2 4 --tp 2",
			[]string{"model_path=m", "cuda_graph_bs=[1, 2, 4]", "tp_size=2"}, nil},
		{"abbreviation", "sglang", "0.5.9", "--model-pa m --mem-frac 0.9",
			[]string{"model_path=m", "mem_fraction_static=0.9"}, nil},
		{"ambiguous", "sglang", "0.5.9", "--model m --disable-cuda 1",
			[]string{"model_path=m", "?--disable-cuda=1"}, []ProblemKind{AmbiguousFlag}},
		{"missing value at the end", "sglang", "0.5.9", "--model m --tp",
			[]string{"model_path=m", "tp_size="}, []ProblemKind{MissingValue}},
		{"missing value before a flag", "sglang", "0.5.9", "--model m --tp --trust-remote-code",
			[]string{"model_path=m", "tp_size=", "trust_remote_code=True"}, []ProblemKind{MissingValue}},
		{"negative number is a value", "sglang", "0.5.9", "--model m --max-running-requests -1",
			[]string{"model_path=m", "max_running_requests=-1"}, nil},
		{"bad choice", "sglang", "0.5.9", "--model m --kv-cache-dtype fp8_e4m",
			[]string{"model_path=m", "kv_cache_dtype=fp8_e4m"}, []ProblemKind{BadChoice}},
		{"bad number", "sglang", "0.5.9", "--model m --tp eight",
			[]string{"model_path=m", "tp_size=eight"}, []ProblemKind{BadValue}},
		{"unexpanded variable is not judged", "sglang", "0.5.9", "--model m --tp $TP",
			[]string{"model_path=m", "tp_size=$TP"}, nil},
		{"value for a switch", "sglang", "0.5.9", "--model m --trust-remote-code=1",
			[]string{"model_path=m", "trust_remote_code=True"}, []ProblemKind{BadValue}},
		{"model is required", "sglang", "0.5.9", "--tp 8", []string{"tp_size=8"}, []ProblemKind{MissingFlag}},
		{"model from a config file", "sglang", "0.5.9", "--config c.yaml", []string{"config=c.yaml"}, nil},
		{"removed", "sglang", "0.5.23", "--model m --nsa-prefill-backend fa3",
			[]string{"model_path=m", "?--nsa-prefill-backend=fa3"}, []ProblemKind{RenamedFlag}},
		{"deprecated constant", "sglang", "0.5.15.post1", "--model m --disable-piecewise-cuda-graph",
			[]string{"model_path=m", "cuda_graph_backend_prefill=disabled"}, []ProblemKind{DeprecatedFlag}},
		{"stray", "sglang", "0.5.9", "--model m --tp 2 8", []string{"model_path=m", "tp_size=2", "?=8"}, []ProblemKind{StrayArgument}},
		{"positional model", "vllm", "0.16.0", "org/m --max_model_len 4096 --no-enable-prefix-caching",
			[]string{"model=org/m", "max_model_len=4096", "enable_prefix_caching=False"}, nil},
		{"json path", "vllm", "0.16.0", "m --compilation_config.cudagraph_mode NONE -O3 -tp=2 -q fp8",
			[]string{"model=m", "compilation_config.cudagraph_mode=NONE", "optimization_level=3", "tensor_parallel_size=2", "quantization=fp8"}, nil},
		{"old -O", "vllm", "0.11.2", "m -O3", []string{"model=m", "compilation_config=3"}, nil},
		{"glued short flag", "vllm", "0.16.0", "m -qfp8", []string{"model=m", "quantization=fp8"}, nil},
		{"server options", "vllm", "0.16.0", "m --host 0.0.0.0 --port 8000 --enable-auto-tool-choice",
			[]string{"model=m", "host=0.0.0.0", "port=8000", "enable_auto_tool_choice=True"}, nil},
		{"json value", "vllm", "0.24.0", `m --speculative-config {"method":"mtp"}`,
			[]string{"model=m", `speculative_config={"method":"mtp"}`}, nil},
		{"double dash", "vllm", "0.16.0", "-- m", []string{"model=m"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := table(t, tt.engine, tt.version).Parse(strings.Fields(tt.argv))
			var kinds []ProblemKind
			for _, problem := range problems {
				kinds = append(kinds, problem.Kind)
			}
			if diff := cmp.Diff(tt.want, asked(p)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.problems, kinds); diff != "" {
				t.Errorf("%s\n%+v", diff, problems)
			}
		})
	}
}

func TestParseSpans(t *testing.T) {
	p, _ := table(t, "sglang", "0.5.9").Parse([]string{"--model=m", "--cuda-graph-bs", "1", "2", "--tp", "8", "--trust-remote-code"})
	want := [][2]int{{0, 1}, {1, 3}, {4, 2}, {6, 1}}
	var got [][2]int
	for _, a := range p.Args {
		got = append(got, [2]int{a.Index, a.Len})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAskedTakesTheLast(t *testing.T) {
	p, _ := table(t, "sglang", "0.5.9").Parse([]string{"--tp", "4", "--tp-size", "8"})
	a, ok := p.Asked("tp_size")
	if !ok || a.Value() != "8" {
		t.Errorf("got %+v, %v", a, ok)
	}
	if _, ok := p.Asked("dp_size"); ok {
		t.Error("dp_size was not asked for")
	}
}

func TestProblemTexts(t *testing.T) {
	tests := []struct {
		engine, version, flag string
		kind                  ProblemKind
		release, use          string
		near                  string
	}{
		{"sglang", "0.5.23", "--nsa-decode-backend", RenamedFlag, "0.5.23", "--dsa-decode-backend", ""},
		{"sglang", "0.5.9", "--dsa-decode-backend", RenamedFlag, "0.5.15.post1", "--nsa-decode-backend", ""},
		{"sglang", "0.5.2", "--admin-api-key", IntroducedFlag, "0.5.8", "", ""},
		{"sglang", "0.5.23", "--enable-flashinfer-trtllm-moe", RemovedFlag, "0.5.6.post2", "", ""},
		{"sglang", "0.5.9", "--kv-cache-type", UnknownFlag, "", "", "--kv-cache-dtype"},
		{"vllm", "0.16.0", "--max-model-length", UnknownFlag, "", "", "--max-model-len"},
	}
	for _, tt := range tests {
		model := map[string]string{"sglang": "--model-path=m", "vllm": "--model=m"}[tt.engine]
		_, problems := table(t, tt.engine, tt.version).Parse([]string{model, tt.flag, "x"})
		if len(problems) != 1 {
			t.Errorf("%s: %+v", tt.flag, problems)
			continue
		}
		p := problems[0]
		if p.Kind != tt.kind || p.Version != tt.release || p.Use != tt.use || p.Index != 1 {
			t.Errorf("%s: %+v", tt.flag, p)
		}
		if tt.near != "" && !slices.Contains(p.Near, tt.near) {
			t.Errorf("%s: near %v, want %s", tt.flag, p.Near, tt.near)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"--model-path=/m --tp 8 --cuda-graph-bs 1 2 4", "m --compilation-config.level 3 -O3 -tp=2", "-- a", "--tp --tp -1", "-qfp8 --no-enable-prefix-caching=",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		argv := strings.Split(line, " ")
		for _, engine := range []string{"sglang", "vllm"} {
			tab, _ := Lookup(engine, "")
			p, _ := tab.Parse(argv)
			next := 0
			for _, a := range p.Args {
				if a.Index < next || a.Len < 1 {
					t.Fatalf("%q: argument at %d takes %d, but %d are read", argv, a.Index, a.Len, next)
				}
				next = a.Index + a.Len
			}
			if next > len(argv) {
				t.Fatalf("%q: read %d elements", argv, next)
			}
		}
	})
}
