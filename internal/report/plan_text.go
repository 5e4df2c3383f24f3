package report

import (
	"fmt"
	"strings"

	"shakedown/internal/term"
)

// What a short plan shows of a list.
const (
	fewBranches = 8
	fewInstead  = 2
	maxBranch   = 26 // columns of a name in the tree: reasons need the room
)

// plan writes a launch that was not started: what will be refused, replaced and
// ignored first, what to do about it, then what else the engine chooses.
func (t *text) plan(v view) {
	p := v.Plan
	t.p.blank()
	t.refusals(p.Refused)
	t.overrides(p.Ignored)
	t.troubles(p.Trouble)
	t.todo(v)
	t.tree(p)
	t.memory(p.Memory)
	t.p.section("ASSUMED")
	for _, n := range p.Assumed {
		t.p.row("", n, "", t.p.style.Dim)
	}
	if t.opt.Full {
		t.wholeLedger(v)
		return
	}
	for _, l := range term.Wrap("nothing was started. --full: all settings and where the engine decides them; --why SETTING; --fix", t.p.width) {
		t.p.line(t.p.style.Dim(l))
	}
}

func (t *text) refusals(rs []refusal) {
	t.p.section("REFUSED")
	for _, r := range rs {
		lead := ""
		if len(rs) > 1 {
			lead = numbers([]int{r.Number}) + "  "
		}
		t.p.row(lead, r.Text, "", t.p.style.Bad)
		if r.Error != "" {
			t.quote(strings.Repeat(" ", len(lead)), r.Error, rootQuote)
		}
	}
	t.p.gap = t.p.gap || len(rs) > 0
}

func (t *text) overrides(os []override) {
	t.p.section("IGNORED")
	for _, o := range os {
		t.p.row("", o.Flag, "", t.p.style.Bold)
		t.p.row("  ", o.Result, "", t.p.style.Warn)
		for _, s := range firstOf(o.Instead, t.few(fewInstead)) {
			t.p.row("  ", "to get it: "+s, "", plainStyle)
		}
		if len(o.Instead) == 0 {
			t.p.row("  ", "no single change of this command was found that brings it back", "", t.p.style.Dim)
		}
		if t.opt.Full && o.Where != "" {
			t.p.row("  ", o.Where, "", t.p.style.Dim)
		}
	}
	t.p.gap = t.p.gap || len(os) > 0
}

func (t *text) troubles(ss []suspect) {
	t.suspects("TROUBLE", ss)
	t.p.gap = t.p.gap || len(ss) > 0
}

// label is the name of a setting and its place in the tree. Of a dotted name
// that is too long the last part is shown: --why takes that, too.
func (b branch) label() string {
	name := b.stem() + b.Name
	if term.Width(name) > maxBranch {
		name = b.stem() + b.Name[strings.LastIndexByte(b.Name, '.')+1:]
	}
	return name
}

// tree writes what the engine chooses, each below what it follows from.
func (t *text) tree(p *planView) {
	shown := firstOf(p.Short, fewBranches)
	if t.opt.Full {
		shown = p.Chosen
	}
	names := 0
	for _, b := range shown {
		names = max(names, min(term.Width(b.label()), maxBranch))
	}
	t.p.section("CHOSEN")
	for i, b := range shown {
		if i == 1 {
			t.p.section("FOR YOU")
		}
		style := plainStyle
		if b.Silent {
			style = t.p.style.Warn
		}
		lead := term.Pad(term.Cut(b.label(), maxBranch), names) + "  "
		t.p.row(lead, strings.Join(nonEmpty(term.Cut(b.Value, maxValue), b.Why), ", "), "", style)
		if t.opt.Full {
			t.p.row(strings.Repeat(" ", names+2), b.Where, "", t.p.style.Dim)
			if b.Line != "" {
				t.quote(strings.Repeat(" ", names+2), b.Line, quoteLines)
			}
		}
	}
	t.more(len(shown), len(p.Chosen), "choices")
	t.p.gap = t.p.gap || len(p.Chosen) > 0
}

// stem draws the tree in front of a name.
func (b branch) stem() string {
	if b.Depth == 0 {
		return ""
	}
	var s strings.Builder
	for _, last := range b.Last[:b.Depth-1] {
		if last {
			s.WriteString("  ")
		} else {
			s.WriteString("| ")
		}
	}
	if b.Last[b.Depth-1] {
		return s.String() + "+-"
	}
	return s.String() + "|-"
}

// barWidth is the width of a drawing of shares, in columns.
const barWidth = 12

func (t *text) memory(m *memoryView) {
	if m == nil {
		return
	}
	t.p.section("MEMORY")
	style := t.p.style.Good
	if !m.Fits {
		style = t.p.style.Bad
	}
	t.p.row("", "of one GPU, "+m.Total+": "+m.Verdict, "", style)
	for _, r := range m.Rows {
		bar := strings.Repeat("#", min(max(int(r.Share*barWidth+0.5), 0), barWidth))
		lead := term.Pad(r.Name, 14) + fmt.Sprintf("%9s  ", r.Size) + term.Pad(bar, barWidth) + "  "
		if t.opt.Full {
			t.p.row(lead, r.How, "", t.p.style.Dim)
		} else {
			t.p.cells(lead, r.How, "", t.p.style.Dim)
		}
	}
	for _, n := range m.Notes {
		t.p.row("", n, "", t.p.style.Dim)
	}
	t.p.gap = true
}

// wholeLedger lists every setting.
func (t *text) wholeLedger(v view) {
	if len(v.Ledger) <= len(v.Plan.Chosen) {
		return // all of it stands above
	}
	t.p.section("LEDGER")
	names := 0
	for _, s := range v.Ledger {
		names = max(names, min(term.Width(s.Name), maxName))
	}
	for _, s := range v.Ledger {
		t.p.row(term.Pad(term.Cut(s.Name, maxName), names)+"  ", strings.Join(nonEmpty(s.Effective, s.By), ", "), "", plainStyle)
	}
}
