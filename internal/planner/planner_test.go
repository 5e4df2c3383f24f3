package planner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"shakedown/internal/command"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
)

// founding is the launch of the night that this tool was made for.
const founding = "python -m sglang.launch_server --model-path /models/GLM-5-NVFP4 --served-model-name glm-5 --tp 8 --quantization modelopt_fp4 " +
	"--attention-backend flashinfer --kv-cache-dtype fp8_e4m3 --max-running-requests 64 --chunked-prefill-size 8192 --host 0.0.0.0 --port 8000"

func options(t testing.TB, line string) Options {
	t.Helper()
	found, err := command.Parse("", []byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return Options{Commands: found, Engine: "sglang@0.5.9", GPU: "8x RTX PRO 6000", With: map[string]string{"transformers": "5.2.0"}}
}

func one(t testing.TB, opt Options) *Plan {
	t.Helper()
	plans, err := Make(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(plans) != 1 {
		t.Fatalf("%d plans", len(plans))
	}
	return plans[0]
}

func (pl *Plan) setting(name string) *finding.SettingMsg {
	for _, m := range pl.Settings {
		if m.Name == name {
			return m
		}
	}
	return &finding.SettingMsg{}
}

func ids(pl *Plan) []string {
	var out []string
	for _, f := range pl.Findings {
		out = append(out, f.ID)
	}
	return out
}

func TestFounding(t *testing.T) {
	pl := one(t, options(t, founding))
	for name, want := range map[string][2]string{
		"kv_cache_dtype":       {"fp8_e4m3", "user"},
		"nsa_prefill_backend":  {"flashmla_auto", "hardware"},
		"nsa_decode_backend":   {"flashmla_kv", "hardware"},
		"page_size":            {"64", "model"},
		"mem_fraction_static":  {"0.848", "hardware"},
		"deepgemm.scale_ue8m0": {"True", "hardware"},
		"tp_size":              {"8", "user"},
	} {
		if m := pl.setting(name); m.Effective != want[0] || m.ChosenBy != want[1] {
			t.Errorf("%s is %s by %s, want %v", name, m.Effective, m.ChosenBy, want)
		}
	}
	if got := ids(pl); !slices.Equal(got, []string{"SGL-NUM-002", "SGL-NUM-003", "SGL-GARB-002", "SGL-NUM-301"}) {
		t.Errorf("known trouble: %v", got)
	}
	if !pl.Problem() || len(pl.Refused)+len(pl.Ignored) > 0 || pl.Memory == nil || !pl.Memory.Fits {
		t.Errorf("refused %v, ignored %v, memory %+v", pl.Refused, pl.Ignored, pl.Memory)
	}
	// A remedy that was tried has its price reckoned and its command whole.
	r := pl.Findings[0].Remedies[0]
	if !strings.Contains(r.Price, "room for tokens ") || !strings.Contains(r.Script, "--kv-cache-dtype bf16") {
		t.Errorf("%+v", r)
	}
	for _, f := range pl.Findings {
		for _, r := range f.Remedies {
			if strings.Contains(r.Title, "FP8 KV cache kept") && f.ID == "SGL-NUM-003" {
				t.Errorf("%s is offered against %s", r.Title, f.ID)
			}
		}
	}
	if pl.Launch.Parallel != "tp 8" || !pl.Launch.VersionExact || pl.Launch.Outcome != finding.Planned {
		t.Errorf("%+v", pl.Launch)
	}
}

// TestMemoryOfThatNight: what was left of each GPU shows a memory fraction of
// 0.8, which the record of the command does not have.
func TestMemoryOfThatNight(t *testing.T) {
	pl := one(t, options(t, founding+" --mem-fraction-static 0.8 --nsa-prefill-backend trtllm --nsa-decode-backend trtllm"))
	if n := pl.Memory.KVTokens; n < 333_677 || n > 407_827 {
		t.Errorf("%d tokens, 370752 were seen", n)
	}
	if l := pl.Memory.Left; l < 15.37 || l > 18.79 {
		t.Errorf("%.2f GiB left, 17.08 were seen", l)
	}
}

func TestIgnored(t *testing.T) {
	opt := options(t, "python -m sglang.launch_server --model-path GLM-5-FP8 --tp 8 --nsa-decode-backend flashmla_sparse")
	opt.Engine, opt.GPU, opt.With = "sglang@0.5.10.post1", "8xB200", nil
	pl := one(t, opt)
	if len(pl.Ignored) != 1 {
		t.Fatalf("%+v", pl.Ignored)
	}
	m := pl.Ignored[0]
	if m.Flag != "--nsa-decode-backend" || m.Effective != "trtllm" || !slices.Contains(m.Coupled, "kv_cache_dtype") || len(m.Remedies) == 0 {
		t.Errorf("%+v", m)
	}
	if !strings.Contains(m.Remedies[0].Script, "--kv-cache-dtype bf16") {
		t.Errorf("%+v", m.Remedies[0])
	}
	if s := pl.setting("nsa_decode_backend"); !s.Silent || *s.Asked.Value != "flashmla_sparse" {
		t.Errorf("%+v", s)
	}
}

func TestReleases(t *testing.T) {
	for version, want := range map[string]string{
		"0.5.9":              "",
		"0.5.8":              "sglang 0.5.8 is planned as 0.5.8.post1, which mends it",
		"0.5.11":             "sglang 0.5.11 is planned as 0.5.10.post1, the nearest older release whose decisions are known",
		"0.5.9.dev604+g96ab": "sglang 0.5.9.dev604+g96ab is a build around 0.5.9, and planned as that",
		"99.0":               "sglang 99.0 is newer than the newest known release",
		"0.4.1":              "sglang 0.4.1 is older than the oldest known release: planned as 0.5.2",
	} {
		opt := options(t, "python -m sglang.launch_server --model-path Llama-3.1-8B-Instruct")
		opt.Engine = "sglang@" + version
		pl := one(t, opt)
		if got := pl.Launch.VersionNote; !strings.HasPrefix(got, want) || (want == "") != pl.Launch.VersionExact {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// machine has SGLang and transformers installed, and a GPU.
func machine() Machine {
	return Machine{
		SMI: func(context.Context) ([]byte, error) {
			return []byte("NVIDIA H200, 9.0, 143771\nNVIDIA H200, 9.0, 143771\n"), nil
		},
		Packages: []PackageDir{
			{Path: "/empty", FS: fstest.MapFS{}},
			{Path: "/venv", FS: fstest.MapFS{
				"sglang-0.5.10.post1.dist-info/METADATA": {},
				"transformers-5.4.0.dist-info/METADATA":  {},
				"sglang_router-0.2.0.dist-info/METADATA": {},
			}},
		},
		Hub: fstest.MapFS{
			"models--acme--Rocket-8B/snapshots/abc/config.json": {Data: []byte(`{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":2048,
				"num_hidden_layers":4,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":8192,"vocab_size":1000,"max_position_embeddings":4096,"torch_dtype":"bfloat16"}`)},
			"models--acme--Rocket-8B/snapshots/abc/model.safetensors.index.json": {Data: []byte(`{"weight_map":{"a":"b"},"metadata":{"total_size":123456}}`)},
		},
		HubPath: "/hub",
	}
}

func TestMachine(t *testing.T) {
	opt := options(t, "python -m sglang.launch_server --model-path acme/Rocket-8B --tp 2")
	opt.Engine, opt.GPU, opt.With, opt.Machine = "", "", nil, machine()
	pl := one(t, opt)
	notes := strings.Join(pl.Launch.Notes, "\n")
	for _, want := range []string{"sglang 0.5.10.post1: installed in /venv", "transformers 5.4.0: installed in /venv", "the model's files are those in /hub/models--acme--Rocket-8B"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
	if pl.Launch.EngineVersion != "0.5.10.post1" || !strings.HasPrefix(pl.Launch.Hardware, "2x NVIDIA H200") {
		t.Errorf("%+v", pl.Launch)
	}
	opt = options(t, "CUDA_VISIBLE_DEVICES=1 python -m sglang.launch_server --model-path acme/Rocket-8B")
	opt.Engine, opt.GPU, opt.Machine = "", "", machine()
	if pl := one(t, opt); !strings.HasPrefix(pl.Launch.Hardware, "NVIDIA H200") {
		t.Errorf("one visible device: %s", pl.Launch.Hardware)
	}
}

func TestMachineWithout(t *testing.T) {
	opt := options(t, "python -m sglang.launch_server --model-path DeepSeek-R1")
	opt.GPU = ""
	if _, err := Make(context.Background(), opt); !errors.Is(err, ErrNoGPU) {
		t.Errorf("no nvidia-smi: %v", err)
	}
	opt.Machine.SMI = func(context.Context) ([]byte, error) { return nil, errors.New("not found") }
	if _, err := Make(context.Background(), opt); !errors.Is(err, ErrNoGPU) {
		t.Errorf("nvidia-smi fails: %v", err)
	}
	opt.GPU, opt.Engine = "8xH200", ""
	if pl := one(t, opt); pl.Launch.VersionExact || !strings.Contains(pl.Launch.VersionNote, "the release is not known") {
		t.Errorf("%+v", pl.Launch)
	}
}

func TestMapped(t *testing.T) {
	maps := []Mapping{{"/model", "/ssd/X"}, {"/model/deep/", "/hdd"}}
	for in, want := range map[string]string{
		"/model": "/ssd/X", "/model/a": "/ssd/X/a", "/models/a": "/models/a", "/model/deep/b": "/hdd/b", "acme/Rocket": "acme/Rocket",
	} {
		if got := mapped(maps, in); got != want {
			t.Errorf("%s lies in %s, want %s", in, got, want)
		}
	}
}

// TestProfiles: every profile is found by all its names and describes a model
// whose memory can be reckoned.
func TestProfiles(t *testing.T) {
	for _, p := range profiles() {
		for _, n := range p.Names {
			m, ok := profile("/models/" + n)
			if !ok || m.Config == nil || m.Architecture() == "" {
				t.Errorf("%s: %v", n, ok)
			}
		}
		opt := options(t, "python -m sglang.launch_server --model-path "+p.Names[0]+" --tp 8")
		opt.Engine, opt.GPU = "sglang@0.5.12.post1", "8x B200"
		pl := one(t, opt)
		if len(pl.Refused) == 0 && pl.Memory == nil {
			t.Errorf("%s: no memory", p.Names[0])
		}
	}
}

func TestFlagsFrom(t *testing.T) {
	table, err := flags.FromHelp(strings.NewReader(`usage: launch_server.py [-h] --model-path MODEL_PATH [--tp-size TP_SIZE] [--new-magic NEW_MAGIC]

options:
  -h, --help            show this help message and exit
  --model-path MODEL_PATH, --model MODEL_PATH
                        The path of the model. (default: None)
  --tp-size TP_SIZE, --tensor-parallel-size TP_SIZE
                        The tensor parallelism size. (default: 1)
  --new-magic NEW_MAGIC
                        Something new. (default: None)
`))
	if err != nil {
		t.Fatal(err)
	}
	opt := options(t, "python -m sglang.launch_server --model-path DeepSeek-R1 --tp-size 8 --new-magic 7")
	opt.Flags = table
	pl := one(t, opt)
	if len(pl.Refused) != 0 {
		t.Errorf("%+v", pl.Refused[0])
	}
	if notes := strings.Join(pl.Launch.Notes, "\n"); !strings.Contains(notes, "--new-magic is left out of this plan") {
		t.Errorf("%s", notes)
	}
}

func TestConfigArgs(t *testing.T) {
	table, _ := flags.Lookup("vllm", "0.24.0")
	args, err := configArgs([]byte("model: acme/Rocket\ntensor-parallel-size: 8\nenforce-eager: true\nenable-prefix-caching: false\nlora-modules: [a, b]\nempty: []\ncompilation-config:\n  level: 3\n"), table)
	want := []string{"--model", "acme/Rocket", "--tensor-parallel-size", "8", "--enforce-eager", "--no-enable-prefix-caching", "--lora-modules", "a", "b", "--compilation-config", `{"level":3}`}
	if err != nil || !slices.Equal(args, want) {
		t.Errorf("%v, %v", args, err)
	}
	for _, bad := range []string{"- a\n", "a: [{b: c}]\n", "a: [\n", "just text"} {
		if _, err := configArgs([]byte(bad), table); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if args, err := configArgs(nil, table); err != nil || args != nil {
		t.Errorf("an empty file: %v, %v", args, err)
	}
}

// TestConfigFileYields: an argument of the command line wins over the engine's
// own config file.
func TestConfigFileYields(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.yaml")
	if err := os.WriteFile(file, []byte("model-path: DeepSeek-R1\ntp-size: 4\npage-size: 32\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pl := one(t, options(t, "python -m sglang.launch_server --config "+file+" --tp-size 8"))
	if got := pl.setting("tp_size").Effective; got != "8" {
		t.Errorf("tp_size %s", got)
	}
	if m := pl.setting("page_size"); m.Asked.Value == nil || *m.Asked.Value != "32" {
		t.Errorf("page_size %+v", m)
	}
}

func TestFix(t *testing.T) {
	fixed, err := Fix(context.Background(), options(t, founding))
	if err != nil || len(fixed) != 1 {
		t.Fatal(err)
	}
	f := fixed[0]
	if len(f.Left) != 0 || len(f.Done) == 0 || !strings.Contains(f.Command.Script(), "--kv-cache-dtype bf16") {
		t.Errorf("%+v\n%s", f, f.Command.Script())
	}
	// Nothing to do is nothing done.
	sound := options(t, "python -m sglang.launch_server --model-path Llama-3.1-8B-Instruct")
	sound.GPU = "H100"
	if fixed, err := Fix(context.Background(), sound); err != nil || len(fixed[0].Done)+len(fixed[0].Left) != 0 {
		t.Errorf("%+v, %v", fixed, err)
	}
}

func TestCompare(t *testing.T) {
	a, b := options(t, "python -m sglang.launch_server --model-path GLM-5-FP8 --tp 8"), options(t, "python -m sglang.launch_server --model-path GLM-5-FP8 --tp 8")
	a.GPU, b.GPU = "8xH200", "8xB200"
	c := Compare(one(t, a), one(t, b))
	i := slices.IndexFunc(c.Differences, func(d finding.DifferenceMsg) bool { return d.Name == "kv_cache_dtype" })
	if i < 0 || c.Differences[i].Good != "bfloat16" || c.Differences[i].Bad != "fp8_e4m3" || c.Differences[i].Weight != finding.Suspicious {
		t.Errorf("%+v", c.Differences)
	}
	if same := Compare(one(t, a), one(t, a)); same.Relevant() || len(same.Differences) != 0 {
		t.Errorf("a plan differs from itself: %+v", same.Differences)
	}
	b = options(t, "python -m sglang.launch_server --model-path GLM-5-FP8 --tp 8 --no-such-flag")
	b.GPU = "8xH200"
	if c := Compare(one(t, a), one(t, b)); c.Differences[0].Kind != "outcome" || c.Differences[0].Weight != finding.Decisive {
		t.Errorf("%+v", c.Differences[0])
	}
}

func TestWhy(t *testing.T) {
	pl := one(t, options(t, "python -m sglang.launch_server --model-path GLM-5-NVFP4 --tp 8 --quantization modelopt_fp4"))
	for _, name := range []string{"nsa_decode_backend", "--nsa-decode-backend"} {
		got, err := Why([]*Plan{pl}, name)
		if err != nil {
			t.Fatal(err)
		}
		if s := got[0].Settings; len(s) != 2 || s[0].Name != "nsa_decode_backend" || s[1].Name != "kv_cache_dtype" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	var u *UsageError
	if _, err := Why([]*Plan{pl}, "nsa_nothing"); !errors.As(err, &u) || !strings.Contains(err.Error(), "similar: nsa_") {
		t.Errorf("%v", err)
	}
}

// TestEmit: the stream is in the order in which it is read, and without
// secrets.
func TestEmit(t *testing.T) {
	pl := one(t, options(t, founding+" --api-key velvet-otter-9-velvet"))
	var buf bytes.Buffer
	enc := finding.NewEncoder(&buf)
	if n, err := Emit([]*Plan{pl}, "test", enc); err != nil || n != len(pl.Findings) {
		t.Fatal(n, err)
	}
	out := buf.String()
	if strings.Contains(out, "velvet-otter") {
		t.Error("a key is in the output")
	}
	var order []string
	for line := range strings.Lines(out) {
		kind, _, _ := strings.Cut(strings.TrimPrefix(line, `{"message":"`), `"`)
		if len(order) == 0 || order[len(order)-1] != kind {
			order = append(order, kind)
		}
	}
	if want := []string{"config", "launch", "finding", "memory", "setting"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// TestSchema: everything that a plan says is in the published contract.
func TestSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../schema/explain.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		founding, "python -m sglang.launch_server --model-path GLM-5-NVFP4 --tp 8", "python -m sglang.launch_server --model-path GLM-5-NVFP4 --tp 16 --old-flag 1",
		"python -m sglang.launch_server --model-path GLM-5-NVFP4 --tp 8 --page-size 32 --quantization modelopt_fp4",
	} {
		pl := one(t, options(t, line))
		var buf bytes.Buffer
		if _, err := Emit([]*Plan{pl}, "test", finding.NewEncoder(&buf)); err != nil {
			t.Fatal(err)
		}
		for text := range strings.Lines(buf.String()) {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		}
	}
}

// TestRefusalRemedies: what helps against a refusal was tried: a change of the
// command, a newer release, or the first of several steps.
func TestRefusalRemedies(t *testing.T) {
	for _, tc := range []struct{ line, engine, title, text string }{
		{"python -m sglang.launch_server --model-path GLM-5-NVFP4 --tp 8 --attention-backend trtllm_mha", "sglang@0.5.9", "without --attention-backend", ""},
		{"python -m sglang.launch_server --model-path GLM-5-NVFP4 --tp 8 --kv-cache-dtype fp8_e5m2 --attention-backend trtllm_mha", "sglang@0.5.9", "without --", "for another reason"},
		{"vllm serve GLM-5-NVFP4 --tensor-parallel-size 8", "vllm@0.19.1", "vllm 0.24.0", "takes this launch as it is"},
	} {
		opt := options(t, tc.line)
		opt.Engine = tc.engine
		if strings.HasPrefix(tc.engine, "vllm") {
			opt.With = nil
		}
		pl := one(t, opt)
		if len(pl.Refused) == 0 || len(pl.Refused[0].Remedies) == 0 {
			t.Errorf("%s: %+v", tc.line, pl.Refused)
			continue
		}
		if r := pl.Refused[0].Remedies[0]; !strings.HasPrefix(r.Title, tc.title) || !strings.Contains(r.Text, tc.text) {
			t.Errorf("%s: %+v", tc.line, r)
		}
	}
}

// TestUnknownValues: a number that only a batch system knows is left out, and
// said so.
func TestUnknownValues(t *testing.T) {
	opt := options(t, "python -m sglang.launch_server --model-path DeepSeek-R1 --tp 16 --nnodes 2 --node-rank $SLURM_NODEID --served-model-name $NAME")
	opt.GPU = "8xH200"
	pl := one(t, opt)
	if len(pl.Refused) != 0 || !strings.Contains(strings.Join(pl.Launch.Notes, "\n"), "--node-rank $SLURM_NODEID is left out of this plan") {
		t.Errorf("%+v, %v", pl.Refused, pl.Launch.Notes)
	}
}

// TestJoin: choices that the engine prints have the ids that explain gives to
// their lines.
func TestJoin(t *testing.T) {
	pl := one(t, options(t, "python -m sglang.launch_server --model-path GLM-5-NVFP4 --tp 8 --quantization modelopt_fp4"))
	known := map[string]bool{}
	for _, l := range pl.answer.q.lines.Lines {
		known[l.ID] = true
	}
	for _, name := range []string{"kv_cache_dtype", "nsa_prefill_backend", "nsa_decode_backend", "page_size", "attention_backend"} {
		if m := pl.setting(name); m.Because[0].Text == "" || !known[m.Choice] {
			t.Errorf("%s is chosen by %s, which no line of a log has: %+v", name, m.Choice, m.Because)
		}
	}
	if m := pl.setting("mem_fraction_static"); m.Choice == "" || m.Because[0].Text != "" {
		t.Errorf("%+v", m)
	}
}

// TestAliases: another name of what was asked for is nothing that is ignored.
func TestAliases(t *testing.T) {
	opt := options(t, "python -m sglang.launch_server --model-path DeepSeek-R1 --tp 8 --speculative-algorithm NEXTN")
	opt.GPU = "8xH200"
	pl := one(t, opt)
	if len(pl.Ignored) != 0 || pl.setting("speculative_algorithm").Effective != "EAGLE" {
		t.Errorf("%+v", pl.Ignored)
	}
}

func TestTotalSize(t *testing.T) {
	for text, want := range map[string]float64{
		`{"metadata":{"total_size":16060522496},"weight_map":{}}`:   16060522496,
		`{"weight_map":{"a":"b"},"metadata":{"total_size":5}} tail`: 5,
		`{"metadata":{}}`: 0, `[]`: 0, ``: 0, `{"metadata":{"total_size":"x"}}`: 0,
	} {
		if got, err := totalSize(strings.NewReader(text)); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func FuzzTotalSize(f *testing.F) {
	f.Add(`{"metadata":{"total_size":16060522496},"weight_map":{}}`)
	f.Add(`{"weight_map":{"a":["b",{"c":1}]},"metadata":{"total_size":-5}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := totalSize(strings.NewReader(text)); err == nil && n <= 0 {
			t.Errorf("%v", n)
		}
	})
}

func FuzzConfigArgs(f *testing.F) {
	f.Add("model: a\ntp: 8\nx: true\ny: [1, 2]\nz: {a: {b: c}}\n")
	f.Add("a: &x [1]\nb: *x\n<<: *x\n")
	f.Add("? {a: b}\n: c\n")
	table, _ := flags.Lookup("vllm", "0.24.0")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = configArgs([]byte(text), table)
	})
}

// FuzzBatch: whatever stands in a line of a batch, every line is answered.
func FuzzBatch(f *testing.F) {
	f.Add(`{"case":1,"engine":"sglang","version":"0.5.9","deps":{"transformers":"5.2.0"},"gpu":{"name":"NVIDIA H200","sm":"9.0","memory_gib":140.4,"memory_mib":143771,"count":8},"model_dir":"none","argv":["--tp",8]}`)
	f.Add(`{"case":{"a":[1]},"engine":"vllm"}`)
	f.Add("[]")
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n\r") || strings.TrimSpace(line) == "" || strings.Contains(line, "model_dir") && !strings.Contains(line, `"none"`) {
			return
		}
		var out bytes.Buffer
		n, err := Batch(strings.NewReader(line), &out)
		if err != nil || n > 1 || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
			t.Errorf("%d unreadable, %v: %s", n, err, out.String())
		}
	})
}

// BenchmarkPlan is one plan with all its counterfactuals.
func BenchmarkPlan(b *testing.B) {
	opt := options(b, founding)
	for b.Loop() {
		one(b, opt)
	}
}

// BenchmarkBatch is one case of a batch.
func BenchmarkBatch(b *testing.B) {
	dir := b.TempDir()
	data := profileConfig(b, "GLM-5-NVFP4")
	if err := os.WriteFile(filepath.Join(dir, "config.json"), data, 0o600); err != nil {
		b.Fatal(err)
	}
	line := `{"case":1,"engine":"sglang","version":"0.5.9","deps":{"transformers":"5.2.0"},"gpu":{"name":"NVIDIA H200","sm":"9.0","memory_gib":140.4,"memory_mib":143771,"count":8},"model_dir":"` + dir + `","argv":["--tp","8"],"env":{}}` + "\n"
	const cases = 500
	in := strings.Repeat(line, cases)
	b.ResetTimer()
	for b.Loop() {
		if n, err := Batch(strings.NewReader(in), new(bytes.Buffer)); n != 0 || err != nil {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(cases*b.N)/b.Elapsed().Seconds(), "plans/s")
}

func profileConfig(tb testing.TB, name string) []byte {
	tb.Helper()
	for _, p := range profiles() {
		if p.Names[0] == name {
			return p.Config
		}
	}
	tb.Fatal("no profile " + name)
	return nil
}

// TestShards: the heads of a model have to divide by the ranks that attention
// has, which SGLang's settings alone do not tell.
func TestShards(t *testing.T) {
	for _, tt := range []struct{ model, args, says, remedy string }{
		{"Llama-3.1-8B-Instruct", "--tp 3", "32 attention heads do not divide by 3 ranks", "--tp 4"},
		{"Llama-3.1-8B-Instruct", "--tp 8", "", ""},
		{"Llama-3.1-8B-Instruct", "--tp 0", "--tp-size 0 leaves no rank that could load the model", "Llama-3.1-8B-Instruct"},
		{"Llama-3.1-8B-Instruct", "--tp -4", "--tp-size -4 leaves no rank that could load the model", "Llama-3.1-8B-Instruct"},
		{"DeepSeek-R1", "--tp 8 --dp 2 --enable-dp-attention", "", ""},
	} {
		opt := options(t, "python -m sglang.launch_server --model-path "+tt.model+" "+tt.args)
		opt.Engine, opt.GPU, opt.With = "sglang@0.5.18", "8x H200", nil
		pl := one(t, opt)
		if tt.says == "" {
			if len(pl.Refused) > 0 {
				t.Errorf("%s %s: %s", tt.model, tt.args, pl.Refused[0].Text)
			}
			continue
		}
		if len(pl.Refused) != 1 || !strings.HasSuffix(pl.Refused[0].Text, tt.says) || !pl.Problem() {
			t.Fatalf("%s %s: %+v", tt.model, tt.args, pl.Refused)
		}
		if r := pl.Refused[0].Remedies; len(r) == 0 || !strings.Contains(r[0].Script, tt.remedy) {
			t.Errorf("%s %s: %+v", tt.model, tt.args, r)
		}
	}
}

// TestMisspelledRemedy: the right spelling of a flag is no remedy when the flag
// does not take the value.
func TestMisspelledRemedy(t *testing.T) {
	for value, want := range map[string]string{"foo": "without --atention-backend", "triton": "write --attention-backend"} {
		pl := one(t, options(t, "python -m sglang.launch_server --model-path Llama-3.1-8B-Instruct --atention-backend "+value))
		if len(pl.Refused) != 1 || len(pl.Refused[0].Remedies) == 0 || pl.Refused[0].Remedies[0].Title != want {
			t.Errorf("%s: %+v", value, pl.Refused)
		}
	}
}

func TestSimilarSetting(t *testing.T) {
	pl := one(t, options(t, founding))
	for name, want := range map[string]string{"atention_backend": "attention_backend", "tp": "tp_size", "--kv-cache-dytpe": "kv_cache_dtype"} {
		if _, err := Why([]*Plan{pl}, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Why([]*Plan{pl}, "zzz"); err == nil || strings.Contains(err.Error(), "similar") {
		t.Errorf("%v", err)
	}
}

// TestMappedAway: the error names the place where --map sent the search.
func TestMappedAway(t *testing.T) {
	opt := options(t, "python -m sglang.launch_server --model-path /models/Acme-1")
	opt.Map = []Mapping{{"/models", "/no/such/place"}}
	if _, err := Make(context.Background(), opt); err == nil || !strings.Contains(err.Error(), "/no/such/place/Acme-1") {
		t.Errorf("%v", err)
	}
}
