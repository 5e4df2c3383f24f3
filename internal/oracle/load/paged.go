package load

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"shakedown/internal/checkpoint"
	"shakedown/internal/oracle"
)

// paged are weights that do not fit into memory together: the next are read while
// others are used, and given back behind their use. Some stay, as many as there is
// room for: each pass reads all in the same order, so that a cache of what was used
// last would never hold what is used next.
type paged struct {
	oracle.Weights
	layers  map[int][]*checkpoint.Tensor    // without experts
	experts map[[2]int][]*checkpoint.Tensor // by layer and number
	head    []*checkpoint.Tensor            // the output matrix
	stay    map[*checkpoint.Tensor]bool
	tight   bool // two layers do not fit: none is read ahead, which would drive out the other

	mu      sync.Mutex
	reading map[int]chan struct{}       // by layer; closed when it is there
	last    chan struct{}               // closed when all are
	read    map[*checkpoint.Tensor]bool // of those that stay
}

var _ oracle.Pager = (*paged)(nil)

// newPaged leaves as many weights in memory as go well with room, in bytes.
func newPaged(w oracle.Weights, c *checkpoint.Checkpoint, room int64) *paged {
	p := &paged{
		Weights: w, layers: map[int][]*checkpoint.Tensor{}, experts: map[[2]int][]*checkpoint.Tensor{},
		stay: map[*checkpoint.Tensor]bool{}, reading: map[int]chan struct{}{}, read: map[*checkpoint.Tensor]bool{},
	}
	size := map[int]int64{} // of layers
	var embed []*checkpoint.Tensor
	for _, t := range c.Tensors() {
		layer, expert := placeOf(t.Name)
		size[layer] += t.Size
		switch {
		case layer >= 0 && expert >= 0:
			p.experts[[2]int{layer, expert}] = append(p.experts[[2]int{layer, expert}], t)
		case layer >= 0:
			p.layers[layer] = append(p.layers[layer], t)
		case strings.HasPrefix(t.Name, "lm_head.") || t.Name == "output.weight":
			p.head = append(p.head, t)
		default:
			embed = append(embed, t)
		}
	}
	if p.head == nil {
		p.head = embed
	}
	p.keep(size, room)
	return p
}

// keep chooses what stays: what every token needs first, then experts. An eighth of
// the room is for all else, and two layers come and go.
func (p *paged) keep(size map[int]int64, room int64) {
	var most int64
	var layers []int
	for layer, n := range size {
		if layer >= 0 {
			most = max(most, n)
			layers = append(layers, layer)
		}
	}
	slices.Sort(layers)
	room -= room/8 + 2*most
	p.tight = room < 0
	add := func(t *checkpoint.Tensor) {
		if room -= t.Size; room >= 0 {
			p.stay[t] = true
		}
	}
	for _, t := range p.head {
		add(t)
	}
	for _, layer := range layers {
		for _, t := range p.layers[layer] {
			add(t)
		}
	}
	for _, layer := range layers {
		p.each(layer, add)
	}
}

// placeOf reads layer and expert from a tensor's name, -1 for none. Experts of a
// GGUF file lie in one tensor, which belongs to the layer.
func placeOf(name string) (layer, expert int) {
	number := func(behind string) int {
		_, rest, ok := strings.Cut(name, behind)
		if !ok {
			return -1
		}
		digits, _, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(digits)
		if err != nil {
			return -1
		}
		return n
	}
	if strings.HasPrefix(name, "blk.") {
		return number("blk."), -1
	}
	return number("model.layers."), number(".mlp.experts.")
}

// Ahead reads a layer in the background.
func (p *paged) Ahead(layer int, experts bool) {
	if p.tight {
		return
	}
	list := slices.Clip(p.layers[layer])
	if experts {
		p.each(layer, func(t *checkpoint.Tensor) { list = append(list, t) })
	}
	p.load(layer, list)
}

// Head reads the output matrix in the background.
func (p *paged) Head() { p.load(oracle.Output, p.head) }

// load reads tensors behind all else that is being read. A goroutine that waits for a
// page of a mapped file keeps others from running, so a pass must not begin with what
// is not there yet: see Ready.
func (p *paged) load(layer int, tensors []*checkpoint.Tensor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*checkpoint.Tensor
	for _, t := range tensors {
		if !p.read[t] {
			list = append(list, t)
			p.read[t] = p.stay[t]
		}
	}
	before, done := p.last, make(chan struct{})
	p.last, p.reading[layer] = done, done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		// A file that can't be read fails where it is used.
		_ = checkpoint.Load(list)
	}()
}

// Ready waits for a layer, or for the output matrix.
func (p *paged) Ready(layer int) {
	p.mu.Lock()
	done := p.reading[layer]
	p.mu.Unlock()
	if done != nil {
		<-done
	}
}

// Expert begins to read an expert.
func (p *paged) Expert(layer, expert int) {
	for _, t := range p.experts[[2]int{layer, expert}] {
		t.Prefetch()
	}
}

// Done gives the memory of a layer back.
func (p *paged) Done(layer int) {
	release := func(t *checkpoint.Tensor) {
		if !p.stay[t] {
			t.Release()
		}
	}
	for _, t := range p.layers[layer] {
		release(t)
	}
	p.each(layer, release)
}

// each calls f for the tensors of all experts of a layer.
func (p *paged) each(layer int, f func(*checkpoint.Tensor)) {
	for e := 0; ; e++ {
		list := p.experts[[2]int{layer, e}]
		if len(list) == 0 {
			return
		}
		for _, t := range list {
			f(t)
		}
	}
}
