package knowledge_test

import (
	"strings"
	"testing"

	"shakedown/internal/engine/all"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/knowledge"
	"shakedown/internal/launch"
	"shakedown/internal/ledger"
)

const planRule = `id: USR-PLAN-001
title: the orca backend has no kernel for this GPU
why: It was made for another one.
cause: kernel-unsupported
severity: error
role: latent
confidence: likely
basis: the table of kernels
engines: {sglang: "<0.6"}
since: "0.1"
plan:
  - when: [{setting: backend, is: orca}, {check: sm12x}, {fact: checkpoint.scale_fmt, not: [ue8m0]}]
    confidence: possible
    basis: the backend, the GPU and the checkpoint
remedies:
  - title: another backend
    set: {--backend: seal}
sources: [sglang]
`

// planned is a launch that was not started.
func planned(version, backend, scale string) knowledge.Input {
	l := &launch.Launch{Engine: all.List[0], Version: version}
	l.Facts.Add(fact.Fact{Key: fact.GPUSM, Value: "12.0"})
	l.Facts.Add(fact.Fact{Key: fact.CkptScaleFmt, Value: scale, Pos: fact.Pos{File: "config.json"}})
	entries := []*ledger.Entry{{
		Name: "backend", Effective: backend, Known: true,
		Because: []finding.Evidence{{Kind: "engine", File: "server_args.py", Text: "Use orca."}},
	}}
	return knowledge.Input{Launch: l, Ledger: ledger.Planned(entries, nil, flags.Match{})}
}

func TestForesee(t *testing.T) {
	base := load(t, planRule)
	got := base.Foresee(planned("0.5.9", "orca", "none"))
	if len(got) != 1 {
		t.Fatalf("%d findings", len(got))
	}
	f := got[0]
	if f.Role != "latent" || f.Confidence != finding.Possible || f.Rank != 1 || len(f.Remedies) != 1 || f.Count != 0 {
		t.Errorf("%+v", f)
	}
	if len(f.Evidence) != 2 || f.Evidence[0].Kind != "config" || f.Evidence[0].Field != "checkpoint.scale_fmt = none" || f.Evidence[1].Text != "Use orca." {
		t.Errorf("evidence %+v", f.Evidence)
	}
	for _, in := range []knowledge.Input{planned("0.5.9", "seal", "none"), planned("0.5.9", "orca", "ue8m0"), planned("0.6.0", "orca", "none")} {
		if got := base.Foresee(in); len(got) != 0 {
			t.Errorf("foreseen in %+v: %+v", in.Launch.Facts, got)
		}
	}
	if j := judge(t, base, sglCommand+sglDump+sglReady); len(j.Findings) != 0 {
		t.Errorf("a rule for launches not started judges a log: %+v", j.Findings)
	}
}

// TestForeseeNeedsNoLine: a rule that needs a line is not foreseen, one that asks
// about settings only is.
func TestForeseeNeedsNoLine(t *testing.T) {
	lined := strings.Replace(planRule, "plan:\n  - when: [{setting: backend, is: orca}, {check: sm12x}, {fact: checkpoint.scale_fmt, not: [ue8m0]}]\n    confidence: possible\n    basis: the backend, the GPU and the checkpoint\n",
		"lines: [{anchor: 'the orca kernel'}]\nwhen: [{setting: backend, is: orca}]\n", 1)
	if got := load(t, lined).Foresee(planned("0.5.9", "orca", "none")); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	settings := strings.Replace(lined, "lines: [{anchor: 'the orca kernel'}]\n", "", 1)
	if got := load(t, settings).Foresee(planned("0.5.9", "orca", "none")); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	outcome := strings.Replace(settings, "is: orca}]", "is: orca}, {outcome: [failed]}]", 1)
	if got := load(t, outcome).Foresee(planned("0.5.9", "orca", "none")); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestPlanErrors(t *testing.T) {
	for name, bad := range map[string]string{
		"an outcome":  strings.Replace(planRule, "{check: sm12x}", "{outcome: [failed]}", 1),
		"a log check": strings.Replace(planRule, "{check: sm12x}", "{check: after-ready}", 1),
		"no basis":    strings.Replace(planRule, "    basis: the backend, the GPU and the checkpoint\n", "", 1),
	} {
		if _, err := knowledge.ParseRule([]byte(bad)); err == nil || !strings.Contains(err.Error(), "plan: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
