package report

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/finding"
	"shakedown/internal/term"
)

// places names positions in files.
type places struct {
	named bool            // positions name the file
	clash map[string]bool // base names that more than one file has
	mixed string          // the file that all names are writers of: file[a], file[b] ...
}

// newPlaces takes lists of names, that of the launch last.
func newPlaces(lists ...[]string) places {
	p := places{clash: map[string]bool{}}
	seen := map[string]string{}
	for _, list := range lists {
		for _, f := range list {
			base := path.Base(f)
			if other, ok := seen[base]; ok && other != f {
				p.clash[base] = true
			}
			seen[base] = f
		}
		p.named = p.named || len(list) > 1
	}
	p.mixed = mixedFile(lists[len(lists)-1])
	return p
}

// mixedFile is the file that all names are writers of, or nothing.
func mixedFile(names []string) string {
	common := ""
	for i, name := range names {
		file, writer := finding.SplitWriterFile(name)
		if writer == "" || i > 0 && file != common {
			return ""
		}
		common = file
	}
	return common
}

// writerOf is the writer in the name file[writer], or nothing.
func writerOf(name string) string {
	_, writer := finding.SplitWriterFile(name)
	return writer
}

// of is the position of a piece of evidence.
func (p places) of(e finding.Evidence) string {
	switch {
	case e.Kind == "engine":
		return "" // a place in the engine's source, too long for a margin
	case e.Kind == "request" && e.Line > 0:
		return "request " + strconv.Itoa(e.Line)
	case e.Kind == "endpoint":
		return term.CutStart(e.File, maxFileName)
	}
	if e.Kind != "" && e.Kind != "log" && e.File != "" && e.Line == 0 {
		return p.name(e.File)
	}
	return p.at(e.File, e.Line)
}

// at is file:line, :line for the only file, and empty when nothing is known.
func (p places) at(file string, line int) string {
	switch {
	case line == 0:
		return ""
	case p.named && file != "":
		return p.name(file) + ":" + strconv.Itoa(line)
	}
	return ":" + strconv.Itoa(line)
}

// maxFileName is what a position may take of a file name, in columns.
const maxFileName = 28

func (p places) name(file string) string {
	if whole, writer := finding.SplitWriterFile(file); writer != "" && whole == p.mixed {
		return term.CutStart(writer, maxFileName)
	}
	if base := path.Base(file); !p.clash[base] {
		file = base
	}
	return term.CutStart(file, maxFileName)
}

// plural is a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func numbers(ns []int) string {
	words := make([]string, len(ns))
	for i, n := range ns {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}

// nonEmpty returns the words that are not empty.
func nonEmpty(words ...string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

// shortModel is the part of a model path that says which model it is: a
// repository keeps its owner, a directory only its name.
func shortModel(m string) string {
	if strings.Count(m, "/") <= 1 && !strings.HasPrefix(m, "/") {
		return m
	}
	return path.Base(m)
}

// duration puts seconds into words of the size that a reader compares.
func duration(s float64) string {
	switch {
	case s < 0:
		return ""
	case s < 10:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	case s < 7200:
		return fmt.Sprintf("%d min %02d s", int(s)/60, int(s)%60)
	}
	return fmt.Sprintf("%d h %02d min", int(s)/3600, int(s)/60%60)
}

// reached says how far a launch came.
func reached(l *launch, p places) string {
	if len(l.Milestones) == 0 {
		if l.NextMissing == "" {
			return ""
		}
		return "no milestone; the first to expect is " + l.NextMissing
	}
	last := l.Milestones[len(l.Milestones)-1]
	s := strings.TrimSpace(last.Name + " " + p.at(last.File, last.Line))
	if last.Seconds > 0 {
		s += " after " + duration(last.Seconds)
	}
	if l.NextMissing != "" {
		s += "; not reached: " + l.NextMissing
	}
	return s
}

// timeline places the milestones in time. A step's length runs to the next
// milestone whose time is known.
func timeline(ms []finding.Milestone, p places) []step {
	end := 0.0
	for _, m := range ms {
		end = max(end, m.Seconds)
	}
	steps := make([]step, len(ms))
	next := -1.0
	for i := len(ms) - 1; i >= 0; i-- {
		m := ms[i]
		s := step{Name: m.Name, Phase: m.Phase, Pos: p.at(m.File, m.Line), Detail: m.Detail}
		if m.Seconds >= 0 {
			s.At = duration(m.Seconds)
			if next >= m.Seconds {
				s.Took = duration(next - m.Seconds)
			}
			if end > 0 {
				s.Start = m.Seconds / end
				s.Length = max(next-m.Seconds, 0) / end
			}
			next = m.Seconds
		}
		steps[i] = s
	}
	return steps
}

// rankGroups groups ranks that came equally far. There is nothing to show of
// one file when the launch became ready, for then all ranks did, or when the
// ranks of each kind (TP0, TP1 ...) came equally far: processes of different
// kinds have different milestones anyway.
func rankGroups(l *launch, p places) []rankGroup {
	if !p.named && (l.healthy() || l.Outcome == finding.ReadyThenFailed) {
		return nil
	}
	type state struct{ file, kind, last, ended string }
	var order []state
	members := map[state][]string{}
	line := map[state]int{}
	kinds := map[string]state{}
	differ := p.named
	for _, r := range l.Ranks {
		s := state{r.File, strings.TrimRight(r.Rank, "0123456789"), r.Last, r.Ended}
		if _, ok := members[s]; !ok {
			order = append(order, s)
			line[s] = r.Line
		}
		members[s] = append(members[s], r.Rank)
		if first, ok := kinds[s.kind]; ok && first != s {
			differ = true
		}
		kinds[s.kind] = s
	}
	if !differ {
		return nil
	}
	out := make([]rankGroup, len(order))
	for i, s := range order {
		out[i] = rankGroup{Ranks: rankList(members[s]), Last: s.last, Pos: p.at(s.file, line[s]), Ended: s.ended}
		if p.named {
			out[i].File = p.name(s.file)
		}
	}
	return out
}

// rankList writes TP0, TP1, TP2 as TP0-2.
func rankList(ranks []string) string {
	type numbered struct {
		prefix string
		n      int
	}
	var list []numbered
	var words []string
	for _, r := range ranks {
		prefix := strings.TrimRight(r, "0123456789")
		n, err := strconv.Atoi(r[len(prefix):])
		if err != nil {
			words = append(words, r)
			continue
		}
		list = append(list, numbered{prefix, n})
	}
	slices.SortFunc(list, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.n, b.n))
	})
	list = slices.Compact(list)
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == (numbered{list[i].prefix, list[j].n + 1}) {
			j++
		}
		w := list[i].prefix + strconv.Itoa(list[i].n)
		if j > i {
			w += "-" + strconv.Itoa(list[j].n)
		}
		words = append(words, w)
		i = j + 1
	}
	return strings.Join(words, ", ")
}

// envWords writes variables in front of a command, sorted by name.
func envWords(env map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(env)) {
		b.WriteString(name + "=" + command.Quote(env[name]) + " ")
	}
	return b.String()
}

// changeWords says what to change in a launch whose command isn't known.
func changeWords(cs []finding.Change) string {
	words := make([]string, len(cs))
	for i, c := range cs {
		switch {
		case c.To == nil:
			words[i] = "without " + c.Name
		case c.Kind != "flag":
			words[i] = c.Name + "=" + *c.To
		default:
			words[i] = strings.TrimSpace(c.Name + " " + *c.To)
		}
	}
	return strings.Join(words, "; ")
}

// linePrefix is what engines write in front of a message: process, time, level
// and code position, in the orders of SGLang and vLLM.
var linePrefix = regexp.MustCompile(`^(?:\([A-Za-z][^()]{0,60}\) )?` +
	`(?:\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\]\s]*(?: [A-Z]{2,4}\d+)*\]? +)?` +
	`(?:(?:INFO|WARNING|ERROR|DEBUG|CRITICAL):? +)?(?:\d\d-\d\d \d\d:\d\d:\d\d +)?` +
	`(?:\[?[\w./-]+\.(?:py|cc|cpp|cu):\d+\]?:? +)?`)

// message is a log line without what stands in front of its message.
func message(line string) string {
	if rest := line[len(linePrefix.FindString(line)):]; len(rest) < len(line) {
		return "…" + rest
	}
	return line
}
