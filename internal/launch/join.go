package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/engine"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
)

// Join puts the launches of several files together: the files of the nodes,
// ranks and roles (prefill, decode, router) of one launch become one Launch
// with several Files. Launches that stand alone are returned as they are. The
// order is that of the first file of each.
func Join(all []*Launch) []*Launch {
	var out []*Launch
	used := make(map[*Launch]bool)
	nodes := make(map[*Launch]node, len(all))
	for _, l := range all {
		nodes[l] = nodeOf(l)
	}
	for i, l := range all {
		if used[l] {
			continue
		}
		parts := []*Launch{l}
		files := map[string]bool{l.Files[0].Name: true}
		for _, m := range all[i+1:] {
			if used[m] || files[m.Files[0].Name] || !together(l, m, nodes[l], nodes[m]) {
				continue
			}
			used[m], files[m.Files[0].Name] = true, true
			parts = append(parts, m)
		}
		out = append(out, merge(parts))
	}
	return out
}

// node is what a file says about its place in a launch of several.
type node struct {
	count  int    // nodes in all, 0 unknown
	rank   int    // -1 unknown
	master string // host:port of the rendezvous
	port   string
	role   string // prefill, decode, router, ""
	model  string
	tp     string
	dp     string
}

// nodeFlags name the settings of a launch command, per meaning.
var nodeFlags = map[string][]string{
	"count":  {"--nnodes", "--num-nodes"},
	"rank":   {"--node-rank", "--node_rank", "-r"},
	"master": {"--dist-init-addr", "--nccl-init-addr", "--data-parallel-address", "--master-addr"},
	"port":   {"--master-port", "--data-parallel-rpc-port"},
	"role":   {"--disaggregation-mode"},
	"model":  {"--model-path", "--model"},
	"tp":     {"--tp", "--tp-size", "--tensor-parallel-size", "-tp"},
	"dp":     {"--data-parallel-size", "-dp"},
	"start":  {"--data-parallel-start-rank", "-dpr"},
	"dtype":  {"--dtype"},
}

func nodeOf(l *Launch) node {
	f := l.Files[0]
	n := node{rank: -1}
	get := func(what string, k fact.Key) string {
		if f.Command != nil {
			for _, name := range nodeFlags[what] {
				if v, ok := flagOf(f.Command, name); ok {
					return v
				}
			}
		}
		if k == "" {
			return ""
		}
		return l.Facts.Value(k)
	}
	n.count, _ = strconv.Atoi(get("count", fact.Nodes))
	if r, err := strconv.Atoi(get("rank", fact.NodeRank)); err == nil {
		n.rank = r
	}
	n.master, n.port = get("master", fact.MasterAddr), get("port", "")
	n.role = get("role", fact.Role)
	if n.role == "null" || n.role == "None" {
		n.role = ""
	}
	n.model, n.tp, n.dp = get("model", fact.Model), get("tp", fact.TP), get("dp", fact.DP)
	if f.Command != nil && n.count == 0 {
		_, headless := flagOf(f.Command, "--headless")
		local, hasLocal := flagOf(f.Command, "--data-parallel-size-local")
		if headless || hasLocal && local != n.dp || n.master != "" && n.dp != "" && n.dp != "1" {
			n.count = 2
			if headless && n.rank < 0 {
				n.rank = 1
			}
		}
		if s, err := strconv.Atoi(get("start", "")); err == nil && n.rank < 0 {
			n.rank = s
		}
	}
	return n
}

// maxGap is how far apart two files of one launch may start: a node that is
// started by hand is minutes late, not hours.
const maxGap = 2 * 3600

// together tells whether two launches are parts of one, by what their files say
// of their place.
func together(l, m *Launch, a, b node) bool {
	if a.count < 2 && b.count < 2 && (a.role == "" || b.role == "") {
		return false // the common case of a folder of unrelated logs
	}
	if l.Engine != m.Engine && a.role == "" && b.role == "" || !near(l.Files[0], m.Files[0]) {
		return false
	}
	if a.role != "" && b.role != "" && a.role != b.role {
		return true
	}
	if a.count < 2 && b.count < 2 {
		return false
	}
	return a.count == b.count || a.count == 0 || b.count == 0
}

func near(a, b *File) bool {
	d, ok := b.Start.Sub(a.Start)
	if !ok {
		return true
	}
	return d < maxGap && d > -maxGap
}

// item is anything with a place in a file, to be put in the order of time.
type item struct {
	seq  *int
	file int
	old  int
	time float64
}

// merge makes one launch of its parts. The first part gives what is common.
func merge(parts []*Launch) *Launch {
	l := parts[0]
	n := nodeOf(l)
	if len(parts) == 1 {
		l.missing([]node{n})
		return l
	}
	slices.SortStableFunc(parts, func(a, b *Launch) int { return cmp.Compare(nodeOf(a).rank, nodeOf(b).rank) })
	l = parts[0]
	nodes := make([]node, len(parts))
	for i, p := range parts {
		nodes[i] = nodeOf(p)
		p.Files[0].Role = roleName(nodes[i], i)
		p.Files[0].Ended = p.endWords()
		p.Files[0].Ready = p.ReadySeq >= 0
		if p.Outcome == finding.Failed && p.FailSeq < 0 {
			p.FailSeq = p.failPlace() // it failed by itself, whatever its peers did
		}
	}
	renumber(parts)
	for _, p := range parts[1:] {
		l.absorb(p)
	}
	l.settleJoined(parts)
	l.contradictions(parts, nodes)
	l.missing(nodes)
	return l
}

// failPlace is where a part that never got ready shows its failure: at its first
// exception that is no interruption, else at its last error-like line; -1 when it
// shows none.
func (l *Launch) failPlace() int {
	for _, t := range l.Traces {
		if !t.Interrupted() {
			return t.Seq
		}
	}
	if n := len(l.Clusters); n > 0 {
		return l.Clusters[n-1].Seq
	}
	return -1
}

func roleName(n node, i int) string {
	if n.role != "" {
		return n.role
	}
	if n.rank >= 0 {
		return fmt.Sprintf("node %d", n.rank)
	}
	return fmt.Sprintf("file %d", i+1)
}

// renumber gives all parts one order: by time, lines without a time stamp
// staying behind the stamped line before them.
func renumber(parts []*Launch) {
	var items []item
	for i, p := range parts {
		times := p.timeline()
		at := func(seq int) float64 {
			k, ok := slices.BinarySearchFunc(times, seq, func(t stamp, s int) int { return cmp.Compare(t.seq, s) })
			if !ok {
				k--
			}
			if k < 0 {
				return p.Files[0].Start.Sec
			}
			return times[k].sec
		}
		add := func(s *int) {
			if *s >= 0 {
				items = append(items, item{seq: s, file: i, old: *s, time: at(*s) + p.Files[0].Offset})
			}
		}
		for k := range p.Events {
			add(&p.Events[k].Seq)
		}
		for _, t := range p.Traces {
			add(&t.Seq)
		}
		for k := range p.Milestones {
			add(&p.Milestones[k].Seq)
		}
		for _, c := range p.Clusters {
			add(&c.Seq)
		}
		for k := range p.ErrorSeqs {
			add(&p.ErrorSeqs[k])
		}
		for _, s := range []*int{&p.ReadySeq, &p.FailSeq, &p.StopSeq, &p.LastSeq, &p.LastServed, &p.SymptomSeq} {
			add(s)
		}
	}
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.file, b.file), cmp.Compare(a.old, b.old))
	})
	next, prev := -1, item{file: -1}
	for _, it := range items {
		if it.file != prev.file || it.old != prev.old || it.time != prev.time {
			next++
		}
		prev = it
		*it.seq = next
	}
}

// stamp is a time stamp at a place of the order.
type stamp struct {
	seq int
	sec float64
}

func (l *Launch) timeline() []stamp {
	var out []stamp
	for i := range l.Events {
		if t := l.Events[i].Time; !t.IsZero() {
			out = append(out, stamp{l.Events[i].Seq, t.Sec})
		}
	}
	for i := range l.Milestones {
		if t := l.Milestones[i].Time; !t.IsZero() {
			out = append(out, stamp{l.Milestones[i].Seq, t.Sec})
		}
	}
	for _, t := range l.Traces {
		if !t.Time.IsZero() {
			out = append(out, stamp{t.Seq, t.Time.Sec})
		}
	}
	slices.SortFunc(out, func(a, b stamp) int { return cmp.Compare(a.seq, b.seq) })
	return out
}

// absorb takes over what another file of the same launch holds.
func (l *Launch) absorb(p *Launch) {
	l.Files = append(l.Files, p.Files...)
	for _, f := range p.Facts.All() {
		l.Facts.Add(f)
	}
	l.Events = append(l.Events, p.Events...)
	for w, n := range p.Counts {
		l.Counts[w] += n
	}
	l.Traces = append(l.Traces, p.Traces...)
	l.Milestones = append(l.Milestones, p.Milestones...)
	l.Dumps = append(l.Dumps, p.Dumps...)
	l.Clusters = append(l.Clusters, p.Clusters...)
	l.ErrorLines += p.ErrorLines
	l.ErrorSeqs = append(l.ErrorSeqs, p.ErrorSeqs...)
	l.Served += p.Served
	l.Answered += p.Answered
	l.servedAfterFail += p.servedAfterFail
	for w, d := range p.drift {
		if mine := l.drift[w]; mine != nil {
			mine.Count += d.Count
		} else {
			l.drift[w] = d
		}
	}
	if l.Version == "" {
		l.Version = p.Version
	}
}

// settleJoined puts everything in order and decides the outcome of the whole.
func (l *Launch) settleJoined(parts []*Launch) {
	slices.SortStableFunc(l.Events, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortStableFunc(l.Traces, func(a, b *Trace) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortStableFunc(l.Milestones, func(a, b Milestone) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortStableFunc(l.Clusters, func(a, b *Cluster) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.Sort(l.ErrorSeqs)
	first := func(get func(*Launch) int) int {
		best := -1
		for _, p := range parts {
			if s := get(p); s >= 0 && (best < 0 || s < best) {
				best = s
			}
		}
		return best
	}
	ready, readyPos := joinedReady(parts)
	fail := first(func(p *Launch) int { return p.FailSeq })
	l.SymptomSeq = first(func(p *Launch) int { return p.SymptomSeq })
	stop := first(func(p *Launch) int { return p.StopSeq })
	for _, p := range parts {
		if p.StopSeq == stop && stop >= 0 {
			l.StopPos = p.StopPos
		}
		l.LastSeq = max(l.LastSeq, p.LastSeq)
		l.LastServed = max(l.LastServed, p.LastServed)
		if p.phase.Order() > l.phase.Order() {
			l.phase = p.phase
		}
	}
	l.headless = false
	l.ReadySeq, l.ReadyPos, l.FailSeq, l.StopSeq = ready, readyPos, fail, stop
	l.decideFiles()
}

// joinedReady is the ready line of the whole: that of a part with a front end.
// Nodes without one count only when all parts are up.
func joinedReady(parts []*Launch) (seq int, pos fact.Pos) {
	seq, all := -1, true
	for _, p := range parts {
		all = all && p.ReadySeq >= 0
		if p.ReadySeq >= 0 && !p.headless && (seq < 0 || p.ReadySeq < seq) {
			seq, pos = p.ReadySeq, p.ReadyPos
		}
	}
	if seq < 0 && all {
		return parts[0].ReadySeq, parts[0].ReadyPos
	}
	return seq, pos
}

func (l *Launch) decideFiles() {
	ready := make([]bool, len(l.Files))
	for i, f := range l.Files {
		ready[i] = f.Ready
	}
	l.decide()
	for i, f := range l.Files {
		f.Ready = ready[i]
	}
}

// StoppedOutside is how a file ended whose processes were interrupted.
const StoppedOutside = "stopped from outside"

// endWords say how the processes of one file ended.
func (l *Launch) endWords() string {
	switch {
	case l.FailSeq >= 0 || len(l.Traces) > 0 && l.ReadySeq < 0 && !l.Traces[0].Interrupted():
		return "failed"
	case l.StopSeq >= 0:
		return StoppedOutside
	}
	for i := range l.Events {
		if ln := l.Events[i].Watch.Line; ln != nil && ln.Kind == engine.Exit {
			return "exited"
		}
	}
	return "log ends"
}

// contradictions notes settings on which the parts of one launch must agree and
// do not.
func (l *Launch) contradictions(parts []*Launch, nodes []node) {
	note := func(what string, values []string) {
		for i := 1; i < len(values); i++ {
			if values[i] == "" || values[0] == "" || values[i] == values[0] {
				continue
			}
			for _, k := range []int{i, 0} {
				f := parts[k].Files[0]
				pos := f.CommandPos
				if pos.Line == 0 && len(parts[k].Dumps) > 0 {
					pos = parts[k].Dumps[0].Pos
				}
				l.Facts.Add(fact.Fact{Key: fact.Mismatch, Value: what, Pos: pos, Rank: f.Role, Unit: values[k]})
			}
			return
		}
	}
	column := func(get func(i int) string) []string {
		out := make([]string, len(nodes))
		for i := range nodes {
			out[i] = get(i)
		}
		return out
	}
	sameRole := true
	for i := range nodes {
		sameRole = sameRole && nodes[i].role == nodes[0].role
	}
	if !sameRole {
		return
	}
	note("rendezvous", column(func(i int) string { return strings.Trim(nodes[i].master+" "+nodes[i].port, " ") }))
	note("model", column(func(i int) string { return nodes[i].model }))
	note("tp", column(func(i int) string { return nodes[i].tp }))
	note("nodes", column(func(i int) string { return positive(nodes[i].count) }))
	note("dtype", column(func(i int) string { return commandFlag(parts[i].Files[0].Command, nodeFlags["dtype"]) }))
	note("quantization", column(func(i int) string { return commandFlag(parts[i].Files[0].Command, []string{"--quantization"}) }))
	note("kv-cache-dtype", column(func(i int) string { return commandFlag(parts[i].Files[0].Command, []string{"--kv-cache-dtype"}) }))
	for i := range nodes {
		for k := range i {
			if nodes[i].rank >= 0 && nodes[i].rank == nodes[k].rank {
				for _, p := range []*Launch{parts[i], parts[k]} {
					l.Facts.Add(fact.Fact{Key: fact.Mismatch, Value: "node-rank", Pos: p.Files[0].CommandPos, Rank: p.Files[0].Name, Unit: strconv.Itoa(nodes[i].rank)})
				}
			}
		}
	}
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// flagOf reads a flag of a command: "--a v", "--a=v", or a switch.
func flagOf(c *command.Command, name string) (string, bool) {
	opts := c.Options()
	for i, o := range opts {
		if o == name {
			if i+1 < len(opts) && !strings.HasPrefix(opts[i+1], "-") {
				return opts[i+1], true
			}
			return "", true
		}
		if v, ok := strings.CutPrefix(o, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

func commandFlag(c *command.Command, names []string) string {
	if c == nil {
		return ""
	}
	for _, n := range names {
		if v, ok := flagOf(c, n); ok {
			return v
		}
	}
	return ""
}

// missing names the nodes whose log was not given.
func (l *Launch) missing(nodes []node) {
	count := 0
	have := make(map[int]bool)
	for _, n := range nodes {
		count = max(count, n.count)
		have[n.rank] = true
	}
	if count < 2 || len(nodes) >= count {
		return
	}
	if len(have) == 1 && have[-1] {
		have = map[int]bool{0: true}
	}
	pos := l.Files[0].CommandPos
	if pos.Line == 0 && len(l.Dumps) > 0 {
		pos = l.Dumps[0].Pos
	}
	for r := range min(count, 64) {
		if !have[r] {
			name := fmt.Sprintf("node %d", r)
			l.Missing = append(l.Missing, name)
			l.Facts.Add(fact.Fact{Key: fact.MissingNode, Value: name, Pos: pos})
		}
	}
}
