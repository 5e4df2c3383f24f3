package tokenizer

import (
	"container/heap"
	"fmt"
	"sync"
	"unicode/utf8"
)

// bpe cuts words by byte pair encoding: of all neighbours that a merge joins,
// those with the merge of the lowest rank are joined first, the leftmost first
// among equals.
type bpe struct {
	ids          map[string]int
	merges       map[uint64]merge // by pairOf its two tokens
	single       [256]int         // id of each byte, -1 for none; only for byte-level words
	byteLevel    bool
	byteTokens   *[256]int // ids of "<0x00>" to "<0xFF>" for characters that the vocabulary lacks
	unknown      int       // id for what nothing else stands for; -1: it is left out
	fuseUnknown  bool      // a run of unknowns is one token
	ignoreMerges bool      // a word that is a token stays whole

	mu    sync.RWMutex
	cache map[string][]int // words seen before
}

// pairOf is the key of two neighbours; ids are below maxID.
func pairOf(a, b int) uint64 { return uint64(a)<<32 | uint64(b) }

type merge struct{ rank, id int }

// The cache keeps short words, of which a text repeats most.
const (
	maxCachedWord  = 32
	maxCachedWords = 1 << 16
)

// mergesOf makes the table of merges. Each merge joins two tokens whose
// concatenation must be a token.
func mergesOf(ids map[string]int, list [][2]string) (map[uint64]merge, error) {
	merges := make(map[uint64]merge, len(list))
	for rank, m := range list {
		a, okA := ids[m[0]]
		b, okB := ids[m[1]]
		id, ok := ids[m[0]+m[1]]
		if !okA || !okB || !ok {
			return nil, fmt.Errorf("tokenizer: merge %d, %q with %q: the vocabulary lacks one of them or the result", rank, m[0], m[1])
		}
		merges[pairOf(a, b)] = merge{rank, id} // of equal merges the last one counts
	}
	return merges, nil
}

func (m *bpe) encode(ids []int, word string) []int {
	if len(word) > maxCachedWord {
		return m.cut(ids, word)
	}
	m.mu.RLock()
	known, ok := m.cache[word]
	m.mu.RUnlock()
	if ok {
		return append(ids, known...)
	}
	n := len(ids)
	ids = m.cut(ids, word)
	m.mu.Lock()
	if m.cache == nil || len(m.cache) >= maxCachedWords {
		m.cache = make(map[string][]int)
	}
	m.cache[word] = append([]int(nil), ids[n:]...)
	m.mu.Unlock()
	return ids
}

func (m *bpe) cut(ids []int, word string) []int {
	if m.ignoreMerges {
		if id, ok := m.ids[word]; ok {
			return append(ids, id)
		}
	}
	n := len(ids)
	ids = m.symbols(ids, word)
	if len(ids)-n <= shortWord {
		return ids[:n+len(m.mergeShort(ids[n:]))]
	}
	return append(ids[:n], m.mergeLong(ids[n:])...)
}

// symbols adds the tokens that merging begins with: bytes or characters.
func (m *bpe) symbols(ids []int, word string) []int {
	if m.byteLevel {
		for i := range len(word) {
			if id := m.single[word[i]]; id >= 0 {
				ids = append(ids, id)
			} else if m.unknown >= 0 {
				ids = append(ids, m.unknown)
			}
		}
		return ids
	}
	fused := false
	for i, r := range word {
		c := word[i : i+utf8.RuneLen(r)]
		if id, ok := m.ids[c]; ok {
			ids, fused = append(ids, id), false
			continue
		}
		if m.byteTokens != nil && m.haveBytes(c) {
			for _, b := range []byte(c) {
				ids = append(ids, m.byteTokens[b])
			}
			fused = false
			continue
		}
		if m.unknown >= 0 && !(fused && m.fuseUnknown) {
			ids = append(ids, m.unknown)
			fused = true
		}
	}
	return ids
}

func (m *bpe) haveBytes(c string) bool {
	for _, b := range []byte(c) {
		if m.byteTokens[b] < 0 {
			return false
		}
	}
	return true
}

// shortWord is the length in symbols up to which looking at all neighbours
// again after each merge is cheaper than a heap.
const shortWord = 24

// mergeShort merges in place and returns what is left.
func (m *bpe) mergeShort(s []int) []int {
	for len(s) > 1 {
		best, at := merge{rank: -1}, 0
		for i := range len(s) - 1 {
			if x, ok := m.merges[pairOf(s[i], s[i+1])]; ok && (best.rank < 0 || x.rank < best.rank) {
				best, at = x, i
			}
		}
		if best.rank < 0 {
			break
		}
		s[at] = best.id
		s = append(s[:at+1], s[at+2:]...)
	}
	return s
}

// mergeLong merges with a heap, in n log n steps.
func (m *bpe) mergeLong(s []int) []int {
	type symbol struct{ id, prev, next int }
	list := make([]symbol, len(s))
	for i, id := range s {
		list[i] = symbol{id, i - 1, i + 1}
	}
	var h candidates
	propose := func(i int) {
		if i < 0 || list[i].next >= len(list) {
			return
		}
		if x, ok := m.merges[pairOf(list[i].id, list[list[i].next].id)]; ok {
			heap.Push(&h, candidate{x, i, list[i].id, list[list[i].next].id})
		}
	}
	for i := range len(list) - 1 {
		propose(i)
	}
	for h.Len() > 0 {
		c := heap.Pop(&h).(candidate)
		left := &list[c.at]
		if left.id != c.a || left.next >= len(list) || list[left.next].id != c.b {
			continue // one of the two was merged meanwhile
		}
		right := left.next
		left.id, left.next = c.id, list[right].next
		list[right].id = -1
		if left.next < len(list) {
			list[left.next].prev = c.at
		}
		propose(left.prev)
		propose(c.at)
	}
	out := s[:0]
	for i := 0; i < len(list); i = list[i].next {
		out = append(out, list[i].id)
	}
	return out
}

// candidate is a merge that may be carried out at a place.
type candidate struct {
	merge
	at   int // of the left symbol
	a, b int
}

type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].at < c[j].at
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	old := *c
	x := old[len(old)-1]
	*c = old[:len(old)-1]
	return x
}
