package ledger_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"shakedown/internal/command"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/launch"
	"shakedown/internal/launchtest"
	"shakedown/internal/ledger"
)

const (
	sglCommand = "$ python3 -m sglang.launch_server --model-path /models/orca-7b --attention-backend flashinfer --kv-cache-dtype bf16 --tp 2\n"

	sglDump = "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='/models/orca-7b', tp_size=2, attention_backend='flashinfer', kv_cache_dtype='bf16', schedule_policy='fcfs', page_size=1, random_seed=11, log_level='info')\n"

	kvChoice = "[2026-03-01 10:00:01] Setting KV cache dtype to fp8_e4m3 for OrcaForCausalLM.\n"

	// dsaChoice sets two backends because of a third setting.
	dsaChoice = "[2026-03-01 10:00:01] Set NSA backends for fp8_e4m3 KV Cache: prefill=flashmla_auto, decode=flashmla_kv.\n"

	vllmLog = `INFO 03-01 10:00:01 [api_server.py:1839] vLLM API server version 0.11.0
INFO 03-01 10:00:01 [utils.py:233] non-default args: {'model': '/models/orca-7b', 'max_model_len': 8192, 'kv_cache_dtype': 'fp8'}
(EngineCore_DP0 pid=311) INFO 03-01 10:00:09 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='/models/orca-7b', dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=1, kv_cache_dtype=fp8, enforce_eager=False
`
)

// build reads a log of one launch, on SGLang 0.5.9 when no line says otherwise.
func build(t *testing.T, log string, cmd *command.Command) *ledger.Ledger {
	t.Helper()
	told := launch.Told{Facts: []fact.Fact{{Key: fact.EngineVersion, Value: "0.5.9"}}}
	if strings.Contains(log, "vLLM") {
		told.Facts = nil
	}
	all := launchtest.Read(t, launchtest.Index(t), "server.log", told, log)
	if len(all) != 1 {
		t.Fatalf("%d launches", len(all))
	}
	return ledger.Build(all[0], ledger.Told{Command: cmd})
}

// row writes what the ledger says about a setting: "asked -> effective by
// chooser", with ! for a silent replacement, and "-" for a setting without row.
func row(g *ledger.Ledger, name string) string {
	for _, e := range g.Entries() {
		if e.Name == name {
			silent := ""
			if e.Silent {
				silent = "!"
			}
			return strings.TrimSpace(fmt.Sprintf("%s -> %s by %s%s %s", askedWords(e.Asked), e.Effective, e.By, silent, e.Choice))
		}
	}
	return "-"
}

func askedWords(a finding.Asked) string {
	switch {
	case !a.Known:
		return "unknown"
	case a.Value == nil:
		return "not asked"
	}
	return *a.Value
}

func TestRows(t *testing.T) {
	for _, tc := range []struct {
		name, log, setting, want string
	}{
		{"asked and kept", sglCommand + sglDump, "kv_cache_dtype", "bf16 -> bf16 by user"},
		{"known not to be asked", sglCommand + sglDump, "page_size", "not asked -> 1 by unknown"},
		{"a lone dump does not tell what was asked", sglDump, "kv_cache_dtype", "unknown -> bf16 by unknown"},
		{"a lone dump shows a default", sglDump, "schedule_policy", "unknown -> fcfs by default"},
		{"replaced in silence", sglCommand + strings.Replace(sglDump, "'bf16'", "'fp8_e4m3'", 1) + kvChoice, "kv_cache_dtype", "bf16 -> fp8_e4m3 by model! SGL-KV-DSA-001"},
		{"replaced without any line", sglCommand + strings.Replace(sglDump, "'flashinfer'", "'triton'", 1), "attention_backend", "flashinfer -> triton by unknown!"},
		{"left to the engine", strings.Replace(sglCommand, "bf16", "auto", 1) + strings.Replace(sglDump, "'bf16'", "'fp8_e4m3'", 1) + kvChoice, "kv_cache_dtype", "auto -> fp8_e4m3 by model SGL-KV-DSA-001"},
		{"a choice before the dump", kvChoice + strings.Replace(sglDump, "'bf16'", "'fp8_e4m3'", 1), "kv_cache_dtype", "unknown -> fp8_e4m3 by model SGL-KV-DSA-001"},
		{"a choice after a dump that leaves it open", strings.Replace(sglDump, "'bf16'", "'auto'", 1) + kvChoice, "kv_cache_dtype", "unknown -> fp8_e4m3 by model SGL-KV-DSA-001"},
		{"coupled", sglDump + dsaChoice, "nsa_prefill_backend", "unknown -> flashmla_auto by coupling SGL-DSA-BACKENDS-001"},
		{"hidden", sglCommand + sglDump, "random_seed", "-"},
		{"hidden, but asked", "$ python3 -m sglang.launch_server --model-path /m --random-seed 11\n" + sglDump, "random_seed", "11 -> 11 by user"},
		{"command without dump", sglCommand + "[2026-03-01 10:00:11 TP0] Load weight begin. avail mem=78.40 GB\n", "tp_size", "2 -> 2 by user"},
		{"vLLM: asked in the flat name, runs in a section", vllmLog, "cache.cache_dtype", "fp8 -> fp8 by user"},
		{"vLLM: replaced", vllmLog, "model.max_model_len", "8192 -> 4096 by unknown!"},
		{"vLLM: not asked", vllmLog, "model.enforce_eager", "not asked -> False by default"},
		{"vLLM: by its flag", "$ vllm serve /models/orca-7b --kv-cache-dtype fp8\n" + vllmLog, "cache.cache_dtype", "fp8 -> fp8 by user"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := row(build(t, tc.log, nil), tc.setting); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.setting, got, tc.want)
			}
		})
	}
}

// TestSameValue: spellings of one value are no replacement.
func TestSameValue(t *testing.T) {
	for _, tc := range []struct {
		flag, setting, ran string
		silent             bool
	}{
		{"--disable-radix-cache", "disable_radix_cache", "True", false},
		{"--mem-fraction-static 0.8", "mem_fraction_static", "0.8", false},
		{"--schedule-conservativeness 1", "schedule_conservativeness", "1.0", false},
		{"--attention-backend triton", "attention_backend", "'triton'", false},
		{"--mem-fraction-static 0.8", "mem_fraction_static", "0.75", true},
	} {
		log := "$ python3 -m sglang.launch_server --model-path /m " + tc.flag + "\n[2026-03-01 10:00:00] server_args=ServerArgs(model_path='/m', " + tc.setting + "=" + tc.ran + ")\n"
		got := row(build(t, log, nil), tc.setting)
		if strings.Contains(got, "!") != tc.silent {
			t.Errorf("%s, ran %s: %s", tc.flag, tc.ran, got)
		}
	}
}

func TestLookups(t *testing.T) {
	g := build(t, vllmLog, nil)
	for _, tc := range []struct {
		name, effective string
		known           bool
		asked           string
	}{
		{"cache.cache_dtype", "fp8", true, "fp8"},
		{"cache_dtype", "fp8", true, "fp8"}, // the last part of a dotted name
		{"section.cache_dtype", "", false, "not asked"},
		{"enforce_eager", "False", true, "not asked"},
		{"block_size", "", false, "not asked"},
	} {
		v, known := g.Effective(tc.name)
		if v != tc.effective || known != tc.known || askedWords(g.Asked(tc.name)) != tc.asked {
			t.Errorf("%s: effective %q (%v), asked %s", tc.name, v, known, askedWords(g.Asked(tc.name)))
		}
	}
	if a := build(t, sglDump, nil).Asked("block_size"); a.Known {
		t.Error("a lone dump tells that a setting was not asked")
	}
}

// TestGivenCommand: the command that the user hands in replaces the one in the
// log, and what its release's parser says about it is kept.
func TestGivenCommand(t *testing.T) {
	cmd, ok := command.ParseLine("python3 -m sglang.launch_server --model-path /m --kv-cache-dtype fp8_e5m2 --no-such-flag")
	if !ok {
		t.Fatal("no command")
	}
	g := build(t, sglCommand+sglDump, &cmd)
	if got := row(g, "kv_cache_dtype"); got != "fp8_e5m2 -> bf16 by unknown!" {
		t.Error(got)
	}
	if len(g.Problems) != 1 || !strings.Contains(fmt.Sprint(g.Problems[0]), "--no-such-flag") {
		t.Errorf("problems %v", g.Problems)
	}
	if b := g.Because("kv_cache_dtype"); len(b) == 0 || b[len(b)-1].Kind != "command" {
		t.Errorf("evidence %+v", b)
	}
}

// TestBecause: the engine's own words come before the values.
func TestBecause(t *testing.T) {
	g := build(t, sglCommand+strings.Replace(sglDump, "'bf16'", "'fp8_e4m3'", 1)+kvChoice, nil)
	want := []finding.Evidence{
		{Kind: "log", File: "server.log", Line: 3, Text: strings.TrimSuffix(kvChoice, "\n")},
		{Kind: "log", File: "server.log", Line: 2, Field: "kv_cache_dtype=fp8_e4m3"},
		{Kind: "log", File: "server.log", Line: 1, Field: "--kv-cache-dtype bf16"},
	}
	if d := diff.Diff(want, g.Because("kv_cache_dtype")); d != "" {
		t.Error(d)
	}
}

// TestOrder: silent replacements first, then choices, then the user's, then
// the rest; without all, only the first three.
func TestOrder(t *testing.T) {
	g := build(t, sglCommand+strings.Replace(sglDump, "'flashinfer'", "'triton'", 1)+dsaChoice, nil)
	names := func(all bool) []string {
		var out []string
		for _, m := range g.Messages(all) {
			out = append(out, m.Name)
		}
		return out
	}
	want := []string{"attention_backend", "nsa_decode_backend", "nsa_prefill_backend", "kv_cache_dtype", "model_path", "tp_size"}
	if got := names(false); !slices.Equal(got, want) {
		t.Errorf("short ledger %q, want %q", got, want)
	}
	full := names(true)
	if !slices.Equal(full[:len(want)], want) || !slices.Contains(full, "schedule_policy") {
		t.Errorf("whole ledger %q", full)
	}
	for _, m := range g.Messages(true) {
		if m.Name == "nsa_decode_backend" && !slices.Equal(m.Coupled, []string{"kv_cache_dtype"}) {
			t.Errorf("%s is coupled with %q", m.Name, m.Coupled)
		}
	}
	rank := map[string]int{"user": 0, "unknown": 1, "default": 2}
	if !slices.IsSortedFunc(g.Messages(true)[len(want):], func(a, b *finding.SettingMsg) int {
		return cmp.Or(cmp.Compare(rank[a.ChosenBy], rank[b.ChosenBy]), cmp.Compare(a.Name, b.Name))
	}) {
		t.Errorf("the rest is out of order: %q", full[len(want):])
	}
}

func TestNoEngine(t *testing.T) {
	g := ledger.Build(&launch.Launch{}, ledger.Told{})
	if len(g.Entries()) != 0 || g.Asked("tp_size").Known {
		t.Error("a launch of no engine has settings")
	}
}

// TestTwoNodes: what another node was told does not count as a replacement of
// what this one was told.
func TestTwoNodes(t *testing.T) {
	node := func(file, model, rank string) *launch.Launch {
		more := " --nnodes 2 --node-rank " + rank + " --dist-init-addr 10.0.0.1:5000\n"
		log := strings.Replace(sglCommand, "\n", more, 1) + strings.Replace(sglDump, "page_size=1", "page_size=1, nnodes=2, node_rank="+rank, 1)
		told := launch.Told{Facts: []fact.Fact{{Key: fact.EngineVersion, Value: "0.5.9"}}}
		all := launchtest.Read(t, launchtest.Index(t), file, told, strings.ReplaceAll(log, "/models/orca-7b", model))
		if len(all) != 1 {
			t.Fatalf("%d launches", len(all))
		}
		return all[0]
	}
	for _, order := range [][]*launch.Launch{
		{node("node0.log", "/models/orca-7b", "0"), node("node1.log", "/models/orca-9b", "1")},
		{node("node1.log", "/models/orca-9b", "1"), node("node0.log", "/models/orca-7b", "0")},
	} {
		joined := launch.Join(order)
		if len(joined) != 1 {
			t.Fatalf("%d launches", len(joined))
		}
		if got, want := row(ledger.Build(joined[0], ledger.Told{}), "model_path"), "/models/orca-7b -> /models/orca-7b by user"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
