package logstream

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// records is a log of which every third line is long.
func records() string {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "[2026-04-16 10:31:%02d TP0] short\n", i)
		fmt.Fprintf(&b, "[2026-04-16 10:31:%02d TP0] Decode batch, #running-req: 120, #token: %d, token usage=0.50, gen --throughput (token/s)=6.19, cuda graph: True\n", i, 261376+i)
		fmt.Fprintf(&b, "[2026-04-16 10:31:%02d TP1] Decode batch, #running-req: 121, #token: %d, é, token usage: 0.50, gen throughput (token/s): 6.19, #queue-req: 0\n", i, 261376+i)
	}
	b.WriteString("Traceback (most recent call last):\n  File \"/usr/lib/python3.12/site-packages/engine/scheduler.py\", line 12, in run\n" +
		"    output = self.model_runner.forward(batch, sampling_info=info, key=xyz)\n" +
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.58 GiB\n")
	return b.String()
}

// hardWrap breaks lines as a terminal of that width shows them.
func hardWrap(log string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		for utf8.RuneCountInString(line) > columns {
			head := string([]rune(line)[:columns])
			b.WriteString(head + "\n")
			line = line[len(head):]
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func foldedLog() string { return hardWrap(records(), 100) }

func TestUnwrapColumns(t *testing.T) {
	for _, columns := range []int{80, 81, 82, 100, 101, 102, 103, 130} {
		in := hardWrap(records(), columns)
		r := NewReader(strings.NewReader(in), ReaderOptions{})
		var text strings.Builder
		physical := strings.Split(in, "\n")
		for _, l := range readLines(t, r) {
			text.WriteString(l.Text + "\n")
			if first := physical[l.No-1]; !strings.HasPrefix(l.Text, first) {
				t.Errorf("%d columns: line %d is %q", columns, l.No, l.Text)
			}
		}
		if d := cmp.Diff(records(), text.String()); d != "" {
			t.Errorf("%d columns (-want +got):\n%s", columns, d)
		}
		if r.Wrapper() != "columns" {
			t.Errorf("%d columns: wrapper %q", columns, r.Wrapper())
		}
	}
}

// A line that only happens to have the width of the terminal ends where the next
// record, traceback, frame, exception or blank line begins.
func TestUnwrapColumnsEnds(t *testing.T) {
	full := func(s string) string { return s + strings.Repeat("x", 100-len(s)) }
	tail := []string{
		full("[2026-04-16 10:32:00] "), "[2026-04-16 10:32:01] next",
		full("[2026-04-16 10:32:02] "), "Traceback (most recent call last):",
		full(`  File "/a/`), "    raise x",
		full("    y "), "ValueError: no",
		full("[2026-04-16 10:32:03] "), "",
		full("[2026-04-16 10:32:04] "), "| a table |",
	}
	lines := readLines(t, NewReader(strings.NewReader(foldedLog()+strings.Join(tail, "\n")+"\n"), ReaderOptions{}))
	for i, want := range tail {
		if got := lines[len(lines)-len(tail)+i].Text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A longer line shows that nothing was wrapped.
func TestUnwrapColumnsStops(t *testing.T) {
	long := strings.Repeat("y", 300)
	full := strings.Repeat("x", 100)
	in := strings.Repeat(foldedLog(), 3) + long + "\n" + full + "\nz\n"
	lines := readLines(t, NewReader(strings.NewReader(in), ReaderOptions{}))
	n := len(lines)
	if lines[n-3].Text != long || lines[n-2].Text != full || lines[n-1].Text != "z" {
		t.Errorf("%q", []string{lines[n-3].Text, lines[n-2].Text, lines[n-1].Text})
	}
}

// Equal lengths alone join nothing.
func TestUnwrapColumnsIsCautious(t *testing.T) {
	cut := func(log string, n int) string {
		var b strings.Builder
		for line := range strings.Lines(log) {
			b.WriteString(string([]rune(strings.TrimSuffix(line, "\n"))[:min(n, utf8.RuneCountInString(line)-1)]) + "\n")
		}
		return b.String()
	}
	row := "| " + strings.Repeat("N/A ", 20) + "|\n"
	for name, in := range map[string]string{
		"not wrapped":         records(),
		"lines that were cut": cut(records(), 100),
		"a table":             strings.Repeat("[2026-04-16 10:31:19] x\n", 10) + strings.Repeat(row, 20),
		"too narrow":          hardWrap(records(), 60),
		"a short log":         hardWrap(records()[:800], 100),
		"few long records":    strings.Repeat("[2026-04-16 10:31:19] short\n", 60) + foldedLog(),
		"without records":     strings.Repeat(strings.Repeat("x", 100)+"\ny\n", 40),
		"colours":             "\x1b[32mgreen\x1b[0m\n" + foldedLog(),
	} {
		r := NewReader(strings.NewReader(in), ReaderOptions{})
		if lines := readLines(t, r); r.Wrapper() != "" || len(lines) != strings.Count(in, "\n") {
			t.Errorf("%s: wrapper %q, %d lines", name, r.Wrapper(), len(lines))
		}
	}
}
