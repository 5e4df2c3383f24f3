// Package fact is the vocabulary of what is known: typed, sourced statements
// that were extracted from log records, argument lists, configuration files,
// endpoints or hardware. Facts are values; judging them happens elsewhere.
//
// Terms: a phase is a stretch of a launch between two milestones; a rank is one
// worker process of a parallel launch; a position is a physical line of a file.
package fact

// Pos is a physical line: file name as given by the user, line from 1.
type Pos struct {
	File string
	Line int
}

// Phase is a stretch of a launch.
type Phase string

// Phases in the order of a launch. Prefill and decode are used when the log
// tells them apart, else Runtime.
const (
	Args     Phase = "args"
	Load     Phase = "load"
	KVAlloc  Phase = "kv-alloc"
	Capture  Phase = "graph-capture"
	Warmup   Phase = "warmup"
	Ready    Phase = "ready"
	Prefill  Phase = "prefill"
	Decode   Phase = "decode"
	Runtime  Phase = "runtime"
	Shutdown Phase = "shutdown"
)

var phaseOrder = map[Phase]int{Args: 0, Load: 1, KVAlloc: 2, Capture: 3, Warmup: 4, Ready: 5, Prefill: 6, Decode: 7, Runtime: 8, Shutdown: 9}

// Order is the place of a phase in a launch, from 0; -1 for an unknown phase.
func (p Phase) Order() int {
	if n, ok := phaseOrder[p]; ok {
		return n
	}
	return -1
}

// Fact is one statement. Keys are dotted (kv.tokens, gpu.sm, mem.avail_gb);
// the value is kept as text beside its unit, so that a report quotes what the
// log said. Keys are listed in keys.go.
type Fact struct {
	Key   Key
	Value string
	Unit  string
	Pos   Pos
	Rank  string // empty: the whole launch
}

// Set is an ordered collection of facts. The zero value is empty and usable.
// It is not safe for concurrent use.
type Set struct {
	all []Fact
	// last holds the index of the latest fact of a key.
	last map[Key]int
}

// maxPerKey bounds what one key can hold, so that a server that prints a fact
// per request cannot grow memory; later values replace the last one kept.
const maxPerKey = 64

// Add appends a fact. An equal value of the same key and rank is kept once.
func (s *Set) Add(f Fact) {
	if s.last == nil {
		s.last = make(map[Key]int)
	}
	n := 0
	for i := range s.all {
		if s.all[i].Key != f.Key {
			continue
		}
		n++
		if s.all[i].Value == f.Value && s.all[i].Rank == f.Rank {
			s.last[f.Key] = i
			return
		}
	}
	if n >= maxPerKey {
		s.all[s.last[f.Key]] = f
		return
	}
	s.all = append(s.all, f)
	s.last[f.Key] = len(s.all) - 1
}

// Get returns the latest fact of a key.
func (s *Set) Get(k Key) (Fact, bool) {
	i, ok := s.last[k]
	if !ok {
		return Fact{}, false
	}
	return s.all[i], true
}

// First returns the earliest value of a key, or "": a draft model and a restart
// of a worker print some facts again.
func (s *Set) First(k Key) string {
	for i := range s.all {
		if s.all[i].Key == k {
			return s.all[i].Value
		}
	}
	return ""
}

// Value returns the latest value of a key, or "".
func (s *Set) Value(k Key) string {
	f, _ := s.Get(k)
	return f.Value
}

// Each calls fn for every fact of a key in the order of arrival.
func (s *Set) Each(k Key, fn func(Fact)) {
	for _, f := range s.all {
		if f.Key == k {
			fn(f)
		}
	}
}

// All returns the facts in the order of arrival; the caller must not change
// the slice.
func (s *Set) All() []Fact { return s.all }
