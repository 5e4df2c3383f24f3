package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"shakedown/internal/launch"
	"shakedown/internal/launchtest"
)

// Bounds of one launch, as the package promises them.
const (
	eventsPerWatch = 40
	tracebacks     = 96
	clusters       = 400
	milestones     = 400
	quoteBytes     = 4 << 10
)

// checkBounds checks what holds for every launch whatever its log says.
func checkBounds(t testing.TB, l *launch.Launch) {
	t.Helper()
	perWatch := make(map[*launch.Watch]int)
	last := -1
	for i := range l.Events {
		ev := &l.Events[i]
		if perWatch[ev.Watch]++; perWatch[ev.Watch] > eventsPerWatch {
			t.Fatalf("more than %d events of %s", eventsPerWatch, ev.Watch.ID)
		}
		if l.Counts[ev.Watch] < perWatch[ev.Watch] {
			t.Fatalf("%s: counted %d, kept %d", ev.Watch.ID, l.Counts[ev.Watch], perWatch[ev.Watch])
		}
		if len(ev.Text) > quoteBytes {
			t.Fatalf("line %d: a text of %d bytes", ev.Pos.Line, len(ev.Text))
		}
		if ev.Seq < last {
			t.Fatalf("event %d has place %d, behind %d", i, ev.Seq, last)
		}
		last = ev.Seq
	}
	for _, c := range l.Clusters {
		if len(c.Text) > quoteBytes || len(c.Lines) > 16 || c.Count < len(c.Lines) {
			t.Fatalf("cluster of %d lines, %d kept, text of %d bytes", c.Count, len(c.Lines), len(c.Text))
		}
	}
	for _, tr := range l.Traces {
		if len(tr.Ranks) > 64 {
			t.Fatalf("a traceback of %d ranks", len(tr.Ranks))
		}
	}
	for _, b := range []struct {
		what     string
		got, max int
	}{
		{"tracebacks", len(l.Traces), tracebacks}, {"clusters", len(l.Clusters), clusters}, {"milestones", len(l.Milestones), milestones},
		{"dumps", len(l.Dumps), 16}, {"error places", len(l.ErrorSeqs), 20_000}, {"new forms", len(l.Drifts()), 200},
	} {
		if b.got > b.max {
			t.Fatalf("%d %s, at most %d", b.got, b.what, b.max)
		}
	}
}

// TestBounds: however long a log is, a launch stays small and its counts stay
// right.
func TestBounds(t *testing.T) {
	const many = 100_000
	mile := "[2026-03-01 10:00:11 TP0] Load weight begin. avail mem=78.40 GB\n"
	for _, tc := range []struct {
		name  string
		log   string
		check func(t *testing.T, l *launch.Launch)
	}{
		{"known lines", sglDump + strings.Repeat(mile, many), func(t *testing.T, l *launch.Launch) {
			evs := launchtest.Events(l, "SGL-LOAD-BEGIN")
			if len(evs) != eventsPerWatch || l.Counts[evs[0].Watch] != many {
				t.Errorf("%d events kept of %d counted, want %d of %d", len(evs), l.Counts[evs[0].Watch], eventsPerWatch, many)
			}
			if len(l.Milestones) != milestones {
				t.Errorf("%d milestones, want %d", len(l.Milestones), milestones)
			}
		}},
		{"signs of service", sglStart + strings.Repeat(sglServed, many/2), func(t *testing.T, l *launch.Launch) {
			if l.Served != many || l.Answered != many/2 || len(l.Events) != 11 {
				t.Errorf("served %d, answered %d, %d events; want %d, %d, 11", l.Served, l.Answered, len(l.Events), many, many/2)
			}
		}},
		{"errors that nobody knows", sglStart + lines(many/2, "[2026-03-01 10:02:00 TP0] ERROR bad things of kind k%[1]sk happen\n"), func(t *testing.T, l *launch.Launch) {
			if l.ErrorLines != many/2 || len(l.Clusters) != clusters {
				t.Errorf("%d error lines in %d clusters, want %d in %d", l.ErrorLines, len(l.Clusters), many/2, clusters)
			}
		}},
		{"different tracebacks", sglDump + lines(1000, "Traceback (most recent call last):\n  File \"/opt/sglang/srt/x.py\", line 3, in f\n    g()\nOrca%[1]sError: no\n\n"), func(t *testing.T, l *launch.Launch) {
			if len(l.Traces) != tracebacks {
				t.Errorf("%d tracebacks, want %d", len(l.Traces), tracebacks)
			}
		}},
		{"an endless traceback", sglDump + "Traceback (most recent call last):\n" + strings.Repeat("  File \"/opt/sglang/srt/x.py\", line 3, in f\n    g()\n", many/2) + "RecursionError: too deep\n" + sglLoad, func(t *testing.T, l *launch.Launch) {
			if len(l.Traces) != 1 || len(l.Traces[0].Original().Frames) > 256 || len(l.Milestones) != 4 {
				t.Errorf("%d tracebacks, %d milestones behind them", len(l.Traces), len(l.Milestones))
			}
		}},
		{"an endless message", sglDump + "Traceback (most recent call last):\n  File \"/opt/sglang/srt/x.py\", line 3, in f\n    g()\nValueError: a\n" + strings.Repeat("    and more\n", many) + sglLoad, func(t *testing.T, l *launch.Launch) {
			if len(l.Traces) != 1 || len(l.Milestones) != 4 {
				t.Errorf("%d tracebacks, %d milestones behind them", len(l.Traces), len(l.Milestones))
			}
		}},
		{"a line of a megabyte", sglDump + "[2026-03-01 10:00:11 TP0] Load weight begin. avail mem=78.40 GB" + strings.Repeat(" x", 1<<19) + "\n" + sglLoaded, func(t *testing.T, l *launch.Launch) {
			if len(l.Milestones) != 2 || len(launchtest.Events(l, "SGL-LOAD-BEGIN")[0].Text) > quoteBytes {
				t.Errorf("%d milestones", len(l.Milestones))
			}
		}},
		{"a dump that never closes", strings.TrimSuffix(sglDump, ")\n") + "\n" + strings.Repeat("more=[1, 2, \n", many) + sglLoad, func(t *testing.T, l *launch.Launch) {
			if len(l.Dumps) != 1 || len(l.Milestones) != 4 {
				t.Errorf("%d dumps, %d milestones behind them", len(l.Dumps), len(l.Milestones))
			}
		}},
		{"a command that never ends", "$ python3 -m sglang.launch_server \\\n" + strings.Repeat(" --tp 2 \\\n", many) + sglStart, func(t *testing.T, l *launch.Launch) {
			if l.ReadySeq < 0 {
				t.Error("the launch behind the command is lost")
			}
		}},
		{"starts without end", lines(many/20, sglDump+"# %[1]s\n"), func(*testing.T, *launch.Launch) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := readOne(t, tc.log)
			checkBounds(t, l)
			tc.check(t, l)
		})
	}
}

// lines repeats a form n times with a different word of letters each time.
func lines(n int, form string) string {
	var s strings.Builder
	for i := range n {
		word := make([]byte, 0, 8)
		for k := i; len(word) < 4; k /= 26 {
			word = append(word, byte('a'+k%26))
		}
		fmt.Fprintf(&s, form, word)
	}
	return s.String()
}
