package report

import (
	"bufio"
	"io"
	"strings"

	"shakedown/internal/term"
)

// gutter is the width of the column of section names.
const gutter = 9

// page lays out lines of text: a section name on the left, text, and a
// position flush right. Errors are kept by the writer until flush.
type page struct {
	w     *bufio.Writer
	width int
	style term.Style
	label string // section name that the next row shows
	gap   bool   // an empty line precedes the next one
}

func newPage(w io.Writer, opt Options) *page {
	return &page{w: bufio.NewWriter(w), width: term.ClampWidth(opt.Width), style: opt.Style}
}

func (p *page) flush() error { return p.w.Flush() }

// section names the rows that follow.
func (p *page) section(name string) { p.label = name }

// margin is the left column of the next row: the section's name once, then
// nothing.
func (p *page) margin() string {
	m := p.style.Head(p.label) + strings.Repeat(" ", max(gutter-term.Width(p.label), 0))
	p.label = ""
	return m
}

func (p *page) line(s string) {
	if p.gap && s != "" {
		s = "\n" + s
	}
	p.gap = false
	// The buffered writer reports its first error on flush.
	_, _ = p.w.WriteString(strings.TrimRight(s, " ") + "\n")
}

func (p *page) blank() { p.line("") }

// plainStyle leaves text as it is.
func plainStyle(s string) string { return s }

// leastText is the room that text needs to be readable beside its lead.
const leastText = 18

// row writes text, wrapped, behind the margin and a lead that later lines keep
// free; pos stands at the right end of the first line. Where the page is too
// narrow for both, the lead gets a line of its own.
func (p *page) row(lead, text, pos string, style func(string) string) {
	tail := 0
	if pos != "" {
		tail = term.Width(pos) + 2
	}
	indent := gutter + term.Width(lead)
	if p.width-indent-tail < leastText && strings.TrimSpace(lead) != "" {
		p.line(p.margin() + term.Cut(lead, p.width-gutter))
		lead, indent = "  ", gutter+2
	}
	room := max(p.width-indent-tail, 1)
	for i, t := range term.Wrap(text, room) {
		switch {
		case i > 0:
			p.line(strings.Repeat(" ", indent) + style(t))
		case pos == "":
			p.line(p.margin() + lead + style(t))
		default:
			p.line(p.margin() + lead + style(t) + strings.Repeat(" ", room-term.Width(t)+2) + p.style.Dim(pos))
		}
	}
}

// cells writes one line of text that is cut instead of wrapped.
func (p *page) cells(lead, text, pos string, style func(string) string) {
	room := max(p.width-gutter-term.Width(lead)-term.Width(pos)-2, 1)
	text = term.Cut(text, room)
	fill := strings.Repeat(" ", room-term.Width(text)+2)
	p.line(p.margin() + lead + style(text) + fill + p.style.Dim(pos))
}

// longWord is the length in bytes from which a word of a quote is broken where
// the page ends: hashes and paths would leave too much of a line empty.
const longWord = 16

// quote writes a log line as it is, broken between words. Of one that takes
// more than the given number of lines the prefix is left out, then the end, of a
// long quote what has the fewest numbers. pos stands at the right end of the
// first line.
func (p *page) quote(lead, text, pos string, lines int) {
	bar := lead + "| "
	room := p.width - gutter - term.Width(bar)
	if pos != "" {
		room -= term.Width(pos) + 2
	}
	if term.Width(text) > room*lines {
		text = message(text)
		if lines >= rootQuote {
			text = shorten(text, room*lines)
		}
	}
	for ; text != "" && lines > 0; lines-- {
		head, tail := term.Break(text, room)
		if at := strings.LastIndexByte(head, ' ') + 1; tail != "" && at > 0 && at >= len(head)-longWord && term.Width(text[at:]) <= room*(lines-1) {
			head, tail = head[:at], text[at:]
		}
		if lines == 1 {
			head = term.Cut(text, room) // wide characters left columns free
		}
		if pos != "" {
			p.line(p.margin() + bar + p.style.Dim(term.Pad(head, room)+"  "+pos))
			pos = ""
		} else {
			p.line(p.margin() + bar + p.style.Dim(head))
		}
		text = tail
	}
}

// scriptIndent is what stands in front of a line that can be copied.
const scriptIndent = 2

// verbatim writes lines as they are, however long, so that they can be copied
// and run.
func (p *page) verbatim(lines []string) {
	for _, l := range lines {
		p.line(strings.Repeat(" ", scriptIndent) + p.style.Bold(l))
	}
}

// rule writes a line across the page with a title in it.
func (p *page) rule(title string) {
	title = term.Cut(title, p.width-4) + " "
	p.line(p.style.Head(title) + p.style.Dim(strings.Repeat("-", max(p.width-term.Width(title), 0))))
}
