package logstream

import "strconv"

// Rank says which worker of a parallel launch speaks: its index in the node,
// data parallel, pipeline parallel, tensor parallel and expert parallel
// dimension, and its number in the whole world. Each is -1 when the line does
// not say it; NoRank has none.
type Rank struct {
	Node, DP, PP, TP, EP, Global int
}

// NoRank is the rank of a line that names none.
var NoRank = Rank{Node: -1, DP: -1, PP: -1, TP: -1, EP: -1, Global: -1}

// String writes the known parts as engines do, "DP0 TP1" or "rank3"; "" for
// NoRank.
func (r Rank) String() string {
	if r == NoRank {
		return ""
	}
	b := make([]byte, 0, len("node12 DP12 PP12 TP12 EP12 rank123"))
	part := func(name string, n int) {
		if n < 0 {
			return
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(append(b, name...), int64(n), 10)
	}
	part("node", r.Node)
	part("DP", r.DP)
	part("PP", r.PP)
	part("TP", r.TP)
	part("EP", r.EP)
	part("rank", r.Global)
	return string(b)
}

// set stores the index of a dimension; dimensions that Rank does not keep
// (context parallel ranks) are accepted and dropped.
func (r *Rank) set(dimension []byte, n int) {
	switch string(dimension) {
	case "DP":
		r.DP = n
	case "PP":
		r.PP = n
	case "TP":
		r.TP = n
	case "EP":
		r.EP = n
	}
}

// rankWord consumes a rank such as TP3 or MOE_DP0.
func (c *cursor) rankWord(r *Rank) bool {
	start := c.i
	name := c.word(func(b byte) bool { return isUpper(b) || b == '_' })
	n, ok := c.number()
	if len(name) < 2 || !ok || name[len(name)-1] != 'P' {
		c.i = start
		return false
	}
	r.set(name, n)
	return true
}

// tagRank reads the ranks in a process name: Worker_PP1_TP3, EngineCore_DP0,
// EngineCore_0 (vLLM 0.9: the data parallel index), VllmWorker-1 (0.8).
func tagRank(tag []byte, r *Rank) {
	c := cursor{b: tag}
	name := string(c.word(isLetter))
	if isEngineCore := name == "EngineCore"; isEngineCore || name == "VllmWorker" {
		sep := c.byte('_') || c.byte('-')
		if n, ok := c.number(); sep && ok && c.i == len(tag) {
			if isEngineCore {
				r.DP = n
			} else {
				r.Global = n
			}
			return
		}
		c.i = len(name)
	}
	for c.byte('_') && c.rankWord(r) {
	}
}
