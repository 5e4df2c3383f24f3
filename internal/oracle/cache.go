package oracle

import (
	"fmt"

	"shakedown/internal/kernel"
	"shakedown/internal/numfmt"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/numerics"
)

// cache is what one layer remembers of the tokens that it has seen.
type cache struct {
	keys, values []*lines // of each KV head, or expanded from the latent
	latent       *lines   // latent and rotated key of MLA
	index        *lines   // keys of the indexer
}

// lines holds one vector per position, as an engine would read it back.
type lines struct {
	width int
	data  []float32
	store store
	stale int // page size when page 1 is never written, else 0
}

// store writes src to a cache and reads it back as dst. Positions come in
// ascending order. It must not keep what it is given.
type store func(dst, src []float32, pos int)

// put stores the vectors of the positions from start on.
func (l *lines) put(start int, x []float32) {
	for t := range len(x) / l.width {
		pos := start + t
		l.data = append(l.data[:pos*l.width], make([]float32, l.width)...)
		if l.stale > 0 && pos/l.stale == 1 {
			copy(l.row(pos), l.row(pos-l.stale))
			continue
		}
		l.store(l.row(pos), x[t*l.width:][:l.width], pos)
	}
}

// put stores vectors of several heads, side by side in x.
func put(heads []*lines, start int, x []float32) {
	w := heads[0].width
	n := len(x) / (w * len(heads))
	for h, l := range heads {
		l.put(start, transposed(x, n, len(heads), h, w))
	}
}

func (l *lines) row(pos int) []float32 { return l.data[pos*l.width:][:l.width] }

// newCache makes the empty cache of a layer.
func (m *Model) newCache(l *layer) *cache {
	c := &cache{}
	line := func(width int, s store) *lines {
		n := &lines{width: width, store: s}
		if m.Num.Has(numerics.StalePage) {
			n.stale = m.Num.Page
		}
		return n
	}
	if a := l.gqa; a != nil {
		for range a.KVHeads {
			c.keys = append(c.keys, line(a.HeadDim, headStore(m.Num.KV)))
			c.values = append(c.values, line(a.HeadDim, headStore(m.Num.KV)))
		}
		return c
	}
	a := l.mla
	c.latent = line(a.KVRank+a.Rope, m.latentStore(a.MLA))
	if m.Num.MLA == numerics.Expanded {
		// What is expanded comes from stored latents, so it has no form of its own.
		for range a.Heads {
			c.keys = append(c.keys, &lines{width: a.Nope + a.Rope, store: keep})
			c.values = append(c.values, &lines{width: a.V, store: keep})
		}
	}
	if a.Indexer != nil {
		c.index = line(a.Indexer.Dim, indexStore(m.Num.IndexKV, a.Indexer.Dim))
	}
	return c
}

func keep(dst, src []float32, _ int) { copy(dst, src) }

func storeBF16(dst, src []float32, _ int) {
	copy(dst, src)
	kernel.RoundBF16s(dst)
}

func storeF16(dst, src []float32, _ int) {
	copy(dst, src)
	roundF16(dst)
}

// headStore is the form of keys and values per head. The FP8 forms are plain
// codes there, with scale 1.
func headStore(kv numerics.KV) store {
	switch kv {
	case numerics.KVBF16:
		return storeBF16
	case numerics.KVF16:
		return storeF16
	case numerics.KV656, numerics.KVDSMLA, numerics.KV576, numerics.KV656As576:
		return func(dst, src []float32, _ int) { numfmt.FP8StaticActivation(dst, src, 1) }
	}
	return keep
}

// latentStore is the form of latents and rotated keys. A geometry that is
// smaller than that of the records is padded with zeros, which fill the rest of a
// tile or tiles that nobody reads.
func (m *Model) latentStore(a family.MLA) store {
	kv := m.Num.KV
	switch kv {
	case numerics.KVBF16:
		return storeBF16
	case numerics.KVF16:
		return storeF16
	}
	records := map[numerics.KV]func(record []byte, latent, rope []float32){
		// SGL quant_k_cache.py multiplies by the reciprocal of the scale and has no
		// floor; VL divides by a scale with one.
		numerics.KV656: func(r []byte, l, k []float32) {
			numfmt.EncodeMLA656(r, l, k, numfmt.MLARule{})
			numfmt.DecodeMLA656(l, k, r)
		},
		numerics.KVDSMLA: func(r []byte, l, k []float32) {
			numfmt.EncodeMLA656(r, l, k, numfmt.MLARule{Floor: true, Divide: true})
			numfmt.DecodeMLA656(l, k, r)
		},
		numerics.KV576: func(r []byte, l, k []float32) {
			numfmt.EncodeMLA576(r[:numfmt.MLA576], l, k, 1, numfmt.Saturate)
			numfmt.DecodeMLA576(l, k, r[:numfmt.MLA576], 1)
		},
	}
	record := make([]byte, numfmt.MLA656)
	latent, rope := make([]float32, numfmt.MLALatent), make([]float32, numfmt.MLARope)
	var pool []byte // of records, when they are read with another stride
	through := records[kv]
	if kv == numerics.KV656As576 {
		through = func(r []byte, l, k []float32) {
			numfmt.EncodeMLA656(r, l, k, numfmt.MLARule{})
			at := len(pool) / numfmt.MLA656 * numfmt.MLA576
			pool = append(pool, r...)
			numfmt.DecodeMLA576(l, k, pool[at:at+numfmt.MLA576], 1)
		}
	}
	if through == nil {
		return keep
	}
	return func(dst, src []float32, _ int) {
		clear(latent)
		clear(rope)
		copy(latent, src[:a.KVRank])
		copy(rope, src[a.KVRank:])
		through(record, latent, rope)
		copy(dst[:a.KVRank], latent)
		copy(dst[a.KVRank:], rope)
		m.round.act.apply(dst) // engines round what they read back
	}
}

// indexStore is the form of the indexer's keys.
func indexStore(kv numerics.IndexKV, dim int) store {
	rule := numfmt.ScaleFloat
	switch kv {
	case numerics.IndexAct:
		return keep
	case numerics.Index132E8M0:
		rule = numfmt.ScaleUE8M0
	}
	return func(dst, src []float32, _ int) { numfmt.FP8Activation(dst, src, rule) }
}

// checkGeometry says what a form of the cache can't hold.
func (m *Model) checkGeometry() error {
	for i, l := range m.Spec.All() {
		a := l.MLA
		switch {
		case a == nil:
			return nil
		case m.Num.KV.Records() && (a.KVRank > numfmt.MLALatent || a.Rope > numfmt.MLARope):
			return fmt.Errorf("kv=%s holds %d latent and %d rotated values, layer %d has %d and %d: use kv=bf16", m.Num.KV, numfmt.MLALatent, numfmt.MLARope, i, a.KVRank, a.Rope)
		case a.Indexer == nil:
		case m.Num.IndexKV != numerics.IndexAct && a.Indexer.Dim > numfmt.IndexKey:
			return fmt.Errorf("index-kv=%s holds keys of %d values, layer %d has %d: use index-kv=act", m.Num.IndexKV, numfmt.IndexKey, i, a.Indexer.Dim)
		case m.Num.Hadamard == numerics.HadamardOn && a.Indexer.Dim&(a.Indexer.Dim-1) != 0:
			return fmt.Errorf("hadamard=on needs an indexer width that is a power of two, layer %d has %d", i, a.Indexer.Dim)
		}
	}
	return nil
}
