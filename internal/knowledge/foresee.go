package knowledge

import (
	"cmp"
	"fmt"
	"slices"

	"shakedown/internal/fact"
	"shakedown/internal/finding"
)

// timeless are the checks that need no line of a log.
var timeless = map[string]bool{"sm12x": true}

// timeless says whether a condition can be decided before a launch.
func (c *Cond) timeless() bool {
	return len(c.Outcome) == 0 && len(c.Phase) == 0 && c.Capture == "" && (c.Check == "" || timeless[c.Check])
}

func allTimeless(conds []Cond) bool {
	return !slices.ContainsFunc(conds, func(c Cond) bool { return !c.timeless() })
}

// checkPlan finds plan conditions that no launch could decide beforehand.
func (r *Rule) checkPlan() []error {
	var errs []error
	for _, p := range r.Plan {
		errs = append(errs, checkConds(p.When)...)
		if len(p.When) == 0 || !allTimeless(p.When) {
			errs = append(errs, fmt.Errorf("plan: want conditions on fact, setting, asked, version or the check sm12x"))
		}
		if p.Confidence.Rank() == 0 || p.Basis == "" {
			errs = append(errs, fmt.Errorf("plan: confidence %q and basis %q: both are needed", p.Confidence, p.Basis))
		}
	}
	return errs
}

// foreseeable rules are those without lines whose conditions need none.
func (r *Rule) foreseeable() bool {
	return len(r.Lines)+len(r.Also)+len(r.Not)+len(r.Frames)+len(r.NoFrames) == 0 && len(r.When) > 0 && allTimeless(r.When)
}

// Foresee applies the rules to a launch that has not been started: in.Launch
// has engine, version and facts, in.Ledger the settings that the engine's
// resolver foresees. The findings are latent, worst first; their remedies carry
// changes only. It is a pure function of its input.
func (b *Base) Foresee(in Input) []*finding.FindingMsg {
	e := newEval(b, in)
	var found []*candidate
	for _, r := range b.rules {
		if c := e.foresee(r); c != nil {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(severityOrder(a), severityOrder(b)), cmp.Compare(b.confidence.Rank(), a.confidence.Rank()), cmp.Compare(a.id(), b.id()))
	})
	if len(found) > maxFindings {
		found = found[:maxFindings]
	}
	out := e.messages(found, nil)
	for _, m := range out {
		m.Count = 0
	}
	return out
}

// foresee tries one rule; nil when it does not apply.
func (e *eval) foresee(r *Rule) *candidate {
	if !e.engineFits(r) || r.Role == Exonerate || r.Role == Symptom || r.Role == Consequence {
		return nil
	}
	c := &candidate{rule: r, role: Latent, confidence: r.Confidence, basis: r.Basis}
	conds := r.When
	switch i := slices.IndexFunc(r.Plan, func(p Strengthen) bool { return e.all(p.When, c) }); {
	case i >= 0:
		conds, c.confidence, c.basis = r.Plan[i].When, r.Plan[i].Confidence, r.Plan[i].Basis
	case !r.foreseeable() || !e.all(r.When, c):
		return nil
	}
	c.facts, c.settings = e.statedFacts(conds), e.settingsOf(conds)
	return c
}

// statedFacts are the facts that conditions were decided by. Those of a planned
// launch stand in files, not on lines.
func (e *eval) statedFacts(conds []Cond) []fact.Fact {
	var out []fact.Fact
	for i := range conds {
		e.l.Facts.Each(fact.Key(conds[i].Fact), func(f fact.Fact) {
			if conds[i].Fact != "" && f.Pos.File != "" && conds[i].compare(f.Value, true) {
				out = append(out, f)
			}
		})
	}
	return out
}
