package load

import (
	"strconv"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/oracle"
)

// paged are weights that do not fit into memory together: the operating system
// is told which come next.
type paged struct {
	oracle.Weights
	layers  map[int][]*checkpoint.Tensor    // without experts
	experts map[[2]int][]*checkpoint.Tensor // by layer and number
}

var _ oracle.Pager = (*paged)(nil)

func newPaged(w oracle.Weights, c *checkpoint.Checkpoint) *paged {
	p := &paged{Weights: w, layers: map[int][]*checkpoint.Tensor{}, experts: map[[2]int][]*checkpoint.Tensor{}}
	for _, t := range c.Tensors() {
		layer, expert := placeOf(t.Name)
		switch {
		case layer < 0:
		case expert < 0:
			p.layers[layer] = append(p.layers[layer], t)
		default:
			p.experts[[2]int{layer, expert}] = append(p.experts[[2]int{layer, expert}], t)
		}
	}
	return p
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
	for _, t := range p.layers[layer] {
		t.Prefetch()
	}
	if experts {
		p.each(layer, func(t *checkpoint.Tensor) { t.Prefetch() })
	}
}

// Expert reads an expert in the background.
func (p *paged) Expert(layer, expert int) {
	for _, t := range p.experts[[2]int{layer, expert}] {
		t.Prefetch()
	}
}

// Done gives the memory of a layer back.
func (p *paged) Done(layer int) {
	for _, t := range p.layers[layer] {
		t.Release()
	}
	p.each(layer, func(t *checkpoint.Tensor) { t.Release() })
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
