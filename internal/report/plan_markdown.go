package report

import (
	"strings"
)

// plan writes a launch that was not started.
func (m *markdown) plan(v view) {
	p := v.Plan
	m.para("### " + mdText(v.Headline))
	m.header("Plan", "")
	for _, r := range [][2]string{{"engine", v.Engine}, {"model", v.Model}, {"hardware", v.Hardware}, {"parallelism", v.Parallel}} {
		if r[1] != "" {
			m.row(r[0], mdCell(r[1]))
		}
	}
	m.line()
	for _, n := range v.Notes {
		m.para("> " + mdText(n))
	}
	for _, r := range p.Refused {
		m.para("**Refused**: " + mdText(r.Text))
		if r.Error != "" {
			m.fence("text", r.Error)
		}
	}
	for _, o := range p.Ignored {
		m.para("**Ignored**: " + mdCode(o.Flag) + ", " + mdText(o.Result))
		for _, s := range o.Instead {
			m.line("- to get it: ", mdText(s))
		}
		m.line()
	}
	for _, s := range p.Trouble {
		m.suspect("Known trouble", s)
	}
	if v.Command != "" {
		m.para("**Command**" + mdPos(v.From))
		m.fence("sh", v.Command)
	}
	m.actions(v)
	m.branches(p.Chosen)
	m.memory(p.Memory)
	if len(p.Assumed) > 0 {
		m.para("**Assumed**")
		for _, n := range p.Assumed {
			m.line("- ", mdText(n))
		}
		m.line()
	}
	if len(v.Ledger) > 0 {
		m.fold("All settings", func() { m.settings("", v.Ledger) })
	}
}

func (m *markdown) branches(bs []branch) {
	if len(bs) == 0 {
		return
	}
	m.para("**Chosen by the engine**")
	m.header("setting", "value", "why", "where")
	for _, b := range bs {
		m.row(mdCell(strings.TrimSpace(b.stem()+b.Name)), mdCell(b.Value), mdText(b.Why), mdText(b.Where))
	}
	m.line()
}

func (m *markdown) memory(v *memoryView) {
	if v == nil {
		return
	}
	m.para("**Memory** of one GPU, " + v.Total + ": " + mdText(v.Verdict))
	m.header("part", "size", "how")
	for _, r := range v.Rows {
		m.row(mdText(r.Name), r.Size, mdText(r.How))
	}
	m.line()
	for _, n := range v.Notes {
		m.para(mdText(n))
	}
}
