package planner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/hfconfig"
	"shakedown/internal/knowledge"
	"shakedown/internal/memfit"
)

// trouble lists the rules that hold already, with remedies that were tried: each
// is resolved again, and one that leaves the trouble on says so or is left out.
func (p *planner) trouble(a *answer, mem *finding.MemoryMsg) []*finding.FindingMsg {
	found := p.foresee(a)
	w := a.rewriter()
	for _, f := range found {
		w.Fill(f)
		f.Remedies = p.tried(a, f, mem)
		slices.SortStableFunc(f.Evidence, func(a, b finding.Evidence) int { return cmp.Compare(telling(a), telling(b)) })
		p.temper(a, f)
	}
	return found
}

// telling orders evidence: a line that the engine will print, what the
// checkpoint says, a decision without a line, what was asked.
func telling(e finding.Evidence) int {
	switch {
	case e.Kind == "engine" && e.Text != "":
		return 0
	case e.Kind == "config":
		return 1
	case e.Kind == "engine":
		return 2
	}
	return 3
}

func (p *planner) foresee(a *answer) []*finding.FindingMsg {
	return p.base.Foresee(knowledge.Input{Launch: a.launchFacts(), Ledger: a.book})
}

// temper lowers the confidence of findings on a release that only stands near a
// known one.
func (p *planner) temper(a *answer, f *finding.FindingMsg) {
	if a.q.weak != "" && f.Confidence == finding.Proven {
		f.Confidence = finding.Likely
		f.Basis = strings.TrimSpace(f.Basis + " (" + a.q.weak + ")")
	}
}

// tried keeps the remedies that work: the launch with them starts, and the rule
// holds no more. Prices are reckoned.
func (p *planner) tried(a *answer, f *finding.FindingMsg, mem *finding.MemoryMsg) []finding.Remedy {
	var kept []finding.Remedy
	for _, r := range f.Remedies {
		if len(r.Changes) == 0 {
			kept = append(kept, r)
			continue
		}
		next, ok := p.pull(a.q, r.Changes)
		if !ok {
			kept = append(kept, r)
			continue
		}
		if a.starts() && !next.starts() || slices.ContainsFunc(p.foresee(next), func(g *finding.FindingMsg) bool { return g.ID == f.ID }) {
			continue
		}
		if price := p.price(next, mem); price != "" {
			r.Price = price
		}
		kept = append(kept, r)
	}
	return kept
}

// price says what a change does to the room for tokens.
func (p *planner) price(next *answer, mem *finding.MemoryMsg) string {
	if mem == nil || mem.KVTokens == 0 {
		return ""
	}
	after := p.memory(next)
	if after == nil || math.Abs(float64(after.KVTokens-mem.KVTokens)) < 0.02*float64(mem.KVTokens) {
		return ""
	}
	return fmt.Sprintf("room for tokens %s -> %s", thousands(mem.KVTokens), thousands(after.KVTokens))
}

// thousands writes 370752 as 371k.
func thousands(n int) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}

// memory reckons the use of one GPU; nil when it cannot.
func (p *planner) memory(a *answer) *finding.MemoryMsg {
	if a.res.Refusal != nil {
		return nil
	}
	est, err := memfit.Fit(memfit.Input{
		Engine: a.q.engine.Name, Version: a.res.Version, Model: a.q.model.model, GPU: a.q.gpu,
		Effective: a.res.Effective, Runtime: a.res.Runtime, FileBytes: a.q.model.bytes, Draft: a.q.draft(),
	})
	if err != nil {
		return nil
	}
	m := &finding.MemoryMsg{
		Total: round(est.TotalGiB), Left: round(est.LeftGiB), KVTokens: est.Tokens, BytesPerToken: est.BytesPerToken,
		Fits: est.Fits, Text: est.Text, Notes: est.Notes,
	}
	for _, it := range est.Items {
		m.Items = append(m.Items, finding.MemoryItem{Name: it.Name, Size: round(it.GiB), How: it.How})
	}
	return m
}

// draft is the draft model that the flags name, nil for none. A tokenizer or a
// further config that they name is none.
func (q *question) draft() *hfconfig.Model {
	parsed, _ := q.table.Parse(q.options)
	for _, s := range []string{"speculative_draft_model_path", "spec_model", "speculative_config.model"} {
		if a, ok := parsed.Asked(s); ok {
			return q.c.Drafts[a.Value()]
		}
	}
	if a, ok := parsed.Asked("speculative_config"); ok {
		return q.c.Drafts[draftOf(a.Value())]
	}
	return nil
}

func round(f float64) float64 { return math.Round(f*100) / 100 }
