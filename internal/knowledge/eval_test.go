package knowledge_test

import (
	"slices"
	"strings"
	"testing"

	"shakedown/internal/fact"
	"shakedown/internal/knowledge"
	"shakedown/internal/launch"
	"shakedown/internal/launchtest"
	"shakedown/internal/ledger"
)

// Pieces of SGLang logs; each ends with a line end.
const (
	sglCommand = "$ python3 -m sglang.launch_server --model-path /models/orca-nvfp4 --tp 2\n"
	sglDump    = "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='/models/orca-nvfp4', tp_size=2, nnodes=1, node_rank=0, kv_cache_dtype='auto', page_size=64)\n"
	sglLoad    = "[2026-03-01 10:00:11 TP0] Load weight begin. avail mem=78.40 GB\n[2026-03-01 10:00:11 TP1] Load weight begin. avail mem=71.20 GB\n"
	sglLoaded  = "[2026-03-01 10:00:30 TP0] Load weight end. elapsed=19.00 s, type=OrcaForCausalLM, dtype=torch.bfloat16, avail mem=70.10 GB, mem usage=8.30 GB.\n"
	sglReady   = "[2026-03-01 10:00:46] The server is fired up and ready to roll!\n"
	sglServed  = "[2026-03-01 10:01:01] INFO:     127.0.0.1:40112 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n"
	sglSigquit = "[2026-03-01 10:02:00] Received sigquit from a child process. It usually means the child failed.\n"
	sglSigterm = "[2026-03-01 10:03:00] SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n"
	assertNaN  = "/pytorch/aten/src/ATen/native/cuda/TensorCompare.cu:112: Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed.\n"

	orcaNeeds = "[2026-03-01 10:00:12 TP0] ERROR kernel.py:7: the orca kernel needs 9 of 8 GiB\n"
)

// load makes a rule set of rules.
func load(t testing.TB, all ...string) *knowledge.Base {
	t.Helper()
	base, err := knowledge.Load(system(all...))
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// judge reads a log of SGLang 0.5.9 that holds one launch and judges it. More
// logs are those of its other nodes.
func judge(t testing.TB, base *knowledge.Base, logs ...string) *knowledge.Judgement {
	t.Helper()
	return judgeTold(t, base, nil, logs...)
}

func judgeTold(t testing.TB, base *knowledge.Base, told []fact.Fact, logs ...string) *knowledge.Judgement {
	t.Helper()
	x := launchtest.Index(t, base.Watches()...)
	told = append(told, fact.Fact{Key: fact.EngineVersion, Value: "0.5.9"})
	var all []*launch.Launch
	for i, log := range logs {
		all = append(all, launchtest.Read(t, x, string(rune('a'+i))+".log", launch.Told{Facts: told}, log)...)
	}
	all = launch.Join(all)
	if len(all) != 1 {
		t.Fatalf("%d launches, want one", len(all))
	}
	return base.Judge(knowledge.Input{Launch: all[0], Ledger: ledger.Build(all[0], ledger.Told{})})
}

// applies tells whether the rule USR-TEST-001 applies.
func applies(j *knowledge.Judgement) bool { return slices.Contains(j.Applied, "USR-TEST-001") }

// TestConditions tries every kind of condition on a launch that fails while it
// loads. The rule's line reads two captures: need is 9, have is 8.
func TestConditions(t *testing.T) {
	const line = "\n    regex: 'needs (?P<need>\\d+) of (?P<have>\\d+) GiB'\n"
	log := sglCommand + sglDump + sglLoad + orcaNeeds + sglSigquit
	for _, tc := range []struct {
		when string
		want bool
	}{
		{"{fact: model, is: /models/orca-nvfp4}", true},
		{"{fact: model, is: /models/other}", false},
		{"{fact: parallel.tp, in: ['1', '2']}", true},
		{"{fact: parallel.tp, in: ['4']}", false},
		{"{fact: parallel.tp, not: ['4']}", true},
		{"{fact: parallel.tp, not: ['2']}", false},
		{"{fact: mem.avail_gb, below: 75}", true}, // of one rank
		{"{fact: mem.avail_gb, below: 70}", false},
		{"{fact: mem.avail_gb, above: 75, below: 80}", true},
		{"{fact: mem.avail_gb, above: 80}", false},
		{"{fact: model, above: 1}", false}, // no number
		{"{fact: gpu.sm, is: '12.0'}", false},
		{"{fact: gpu.sm, not: ['12.0']}", true}, // unknown is not 12.0
		{"{fact: gpu.sm, above: 1}", false},
		{"{setting: tp_size, is: '2'}", true},
		{"{setting: tp_size, above: 2}", false},
		{"{setting: kv_cache_dtype, in: [auto, fp8_e4m3]}", true},
		{"{setting: no_such_setting, is: x}", false},
		{"{setting: no_such_setting, not: [x]}", true},
		{"{asked: tp_size, is: 'yes'}", true},
		{"{asked: kv_cache_dtype, is: 'no'}", true},
		{"{asked: kv_cache_dtype, is: unknown}", false},
		{"{outcome: [failed, stalled]}", true},
		{"{outcome: [ok]}", false},
		{"{phase: [load]}", true},
		{"{phase: [decode]}", false},
		{"{capture: need, above: have}", true},
		{"{capture: need, below: have}", false},
		{"{capture: need, above: 8.5, below: 10}", true},
		{"{capture: need, is: '9'}", true},
		{"{capture: need, is: '8'}", false},
		{"{capture: want, above: 1}", false},
		{"{version: '>=0.5.6 <0.6'}", true},
		{"{version: '>=0.6'}", false},
		{"{check: before-ready}", true},
		{"{fact: parallel.tp, is: '2'}, {outcome: [ok]}", false}, // all must hold
	} {
		base := load(t, strings.Replace(good, "needs\n", "needs"+line, 1)+"when: ["+tc.when+"]\n")
		if got := applies(judge(t, base, log)); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.when, got, tc.want)
		}
	}
	base := load(t, with("when: [{asked: kv_cache_dtype, is: unknown}]"))
	if !applies(judge(t, base, sglDump+sglLoad+orcaNeeds)) {
		t.Error("a lone dump does not tell what was asked")
	}
}

func TestChecks(t *testing.T) {
	base := func(check string) *knowledge.Base {
		symptom := `id: USR-NAN-001
title: NaN at the sampler
why: It is.
cause: numerics-nan
severity: error
role: symptom
confidence: likely
lines: [{anchor: probability tensor contains}]
`
		return load(t, with("when: [{check: "+check+"}]"), symptom)
	}
	start := sglDump + sglLoad
	sm12x := func(k fact.Key, v string) []fact.Fact { return []fact.Fact{{Key: k, Value: v}} }
	for _, tc := range []struct {
		check string
		told  []fact.Fact
		log   string
		want  bool
	}{
		{"after-ready", nil, start + sglReady + orcaNeeds + sglSigquit, true},
		{"after-ready", nil, start + orcaNeeds + sglSigquit, false},
		{"after-ready", nil, start + orcaNeeds + sglReady, false},
		{"before-ready", nil, start + orcaNeeds + sglReady, true},
		{"before-ready", nil, start + sglReady + orcaNeeds, false},
		{"not-survived", nil, start + orcaNeeds + sglSigquit, true},
		{"not-survived", nil, start + orcaNeeds + sglLoaded, false},
		{"first-failure", nil, start + orcaNeeds + sglSigquit, true},
		{"first-failure", nil, start + sglSigquit + orcaNeeds, false},
		{"symptom-nan", nil, start + sglReady + orcaNeeds + assertNaN, true},
		{"symptom-nan", nil, start + sglReady + orcaNeeds + sglSigquit, false},
		{"sm12x", sm12x(fact.GPUSM, "12.0"), start + orcaNeeds, true},
		{"sm12x", sm12x(fact.GPUSM, "121"), start + orcaNeeds, true},
		{"sm12x", sm12x(fact.GPUName, "NVIDIA RTX PRO 6000 Blackwell"), start + orcaNeeds, true},
		{"sm12x", sm12x(fact.GPUSM, "9.0"), start + orcaNeeds, false},
		{"sm12x", nil, start + orcaNeeds, false},
	} {
		if got := applies(judgeTold(t, base(tc.check), tc.told, tc.log)); got != tc.want {
			t.Errorf("%s, told %v, %q: %v, want %v", tc.check, tc.told, tc.log, got, tc.want)
		}
	}
}

const orcaTraceback = `[2026-03-01 10:00:12 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 2100, in run_scheduler_process
    scheduler.load()
  File "/opt/sglang/srt/layers/orca_linear.py", line 77, in apply
    return pack(x)
ValueError: the orca kernel needs 9 of 8 GiB

`

// TestLines: what a rule's lines, frames, engines and versions let through.
func TestLines(t *testing.T) {
	log := sglDump + sglLoad + orcaNeeds + sglSigquit
	traced := sglDump + sglLoad + orcaTraceback + sglSigquit
	for _, tc := range []struct {
		name, more, log string
		want            bool
	}{
		{"its line", "", log, true},
		{"another line", "", sglDump + sglLoad + sglSigquit, false},
		{"the message of an exception", "", traced, true},
		{"also, found", "also: [{anchor: Received sigquit}]", log, true},
		{"also, not found", "also: [{anchor: Received sigquit}]", sglDump + sglLoad + orcaNeeds, false},
		{"also, one of two found", "also: [{anchor: Received sigquit}, {anchor: nobody prints}]", log, false},
		{"not, found", "not: [{anchor: Received sigquit}]", log, false},
		{"not, not found", "not: [{anchor: Received sigquit}]", sglDump + sglLoad + orcaNeeds, true},
		{"frames, file", "frames: [orca_linear]", traced, true},
		{"frames, function and source", "frames: [run_scheduler_process, pack(x)]", traced, true},
		{"frames, one of two", "frames: [orca_linear, sampler]", traced, false},
		{"frames, without traceback", "frames: [orca_linear]", log, false},
		{"no frames, there", "no_frames: [orca_linear]", traced, false},
		{"no frames, not there", "no_frames: [sampler]", traced, true},
		{"no frames, without traceback", "no_frames: [orca_linear]", log, true},
		{"engine", "engines: {sglang: ''}", log, true},
		{"another engine", "engines: {vllm: ''}", log, false},
		{"version", "engines: {sglang: '>=0.5.6 <0.6'}", log, true},
		{"another version", "engines: {sglang: '>=0.6'}", log, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := applies(judge(t, load(t, with(tc.more)), tc.log)); got != tc.want {
				t.Errorf("applies: %v", got)
			}
		})
	}
}

// TestUnknownVersion: an unreadable version fits every range of engines, and no
// condition about the version.
func TestUnknownVersion(t *testing.T) {
	for more, want := range map[string]bool{"engines: {sglang: '>=7'}": true, "when: [{version: '>=0.1'}]": false} {
		base := load(t, with(more))
		l := launchtest.Read(t, launchtest.Index(t, base.Watches()...), "a.log", launch.Told{}, sglDump+sglLoad+orcaNeeds)[0]
		if got := applies(base.Judge(knowledge.Input{Launch: l, Ledger: ledger.Build(l, ledger.Told{})})); got != want {
			t.Errorf("%s: applies %v", more, got)
		}
	}
}

// TestWhenAlone: a rule without lines stands on its conditions.
func TestWhenAlone(t *testing.T) {
	rule := but("lines:\n  - anchor: orca kernel needs\n", "when: [{setting: page_size, is: '64'}, {fact: parallel.tp, is: '2'}]\n")
	j := judge(t, load(t, rule), sglDump+sglLoad+sglSigquit)
	if len(j.Findings) != 1 || j.Findings[0].ID != "USR-TEST-001" {
		t.Fatalf("findings %v", outline(j))
	}
	var got []string
	for _, ev := range j.Findings[0].Evidence {
		got = append(got, ev.Field)
	}
	if !slices.Contains(got, "page_size=64") || !slices.Contains(got, "parallel.tp = 2") {
		t.Errorf("evidence %q, want the setting and the fact that it stands on", got)
	}
	if applies(judge(t, load(t, rule+"not: [{anchor: Received sigquit}]\n"), sglDump+sglLoad+sglSigquit)) {
		t.Error("a rule without lines applies although its not-line is there")
	}
}
