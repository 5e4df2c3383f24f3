package numfmt

import (
	"encoding/binary"
	"math"
)

// Sizes of the KV records of MLA models, in bytes per token and layer, and their
// parts in values.
const (
	MLALatent      = 512 // normed latent
	MLARope        = 64  // roped key
	MLA656         = MLALatent + 4*MLALatent/FP8Block + 2*MLARope
	MLA576         = MLALatent + MLARope
	IndexKey       = 128 // key of the sparse indexer
	IndexKeyRecord = IndexKey + 4
)

// MLARule says how an engine quantises the latent of the 656-byte record.
type MLARule struct {
	// Floor keeps the scale at or above the smallest normal float32, so that a
	// tile of zeros stays zero: vLLM. Without it, SGLang, such a tile has scale 0
	// and codes NaN.
	Floor bool
	// Divide divides by the scale; without it the quantiser multiplies by the
	// reciprocal. A code in some thousands differs.
	Divide bool
}

// EncodeMLA656 writes the 656-byte record of one token (FlashMLA; SGLang
// flashmla_kv, vLLM fp8_ds_mla): 512 codes E4M3FN, four float32 scales (one per
// 128 latent values, amax/448), 64 BF16 of the roped key.
func EncodeMLA656(record []byte, latent, rope []float32, rule MLARule) {
	for t := range MLALatent / FP8Block {
		tile := latent[t*FP8Block:][:FP8Block]
		scale := absMax(tile) / 448
		if rule.Floor {
			scale = maxNaN(scale, 0x1p-126)
		}
		binary.LittleEndian.PutUint32(record[MLALatent+4*t:], math.Float32bits(scale))
		inverse := 1 / scale
		for j, v := range tile {
			q := v * inverse
			if rule.Divide {
				q = v / scale
			}
			code := E4M3FN.Encode(q, Saturate)
			if q != q {
				code = 0xff // processors disagree about the sign of 0*Inf; this is torch's on x86
			}
			record[t*FP8Block+j] = code
		}
	}
	putBF16(record[MLALatent+16:], rope)
}

// DecodeMLA656 reads a 656-byte record: code times scale, not rounded further
// (engines round the product to BF16).
func DecodeMLA656(latent, rope []float32, record []byte) {
	for t := range MLALatent / FP8Block {
		scale := math.Float32frombits(binary.LittleEndian.Uint32(record[MLALatent+4*t:]))
		E4M3FN.DecodeScaled(latent[t*FP8Block:][:FP8Block], record[t*FP8Block:], scale)
	}
	DecodeBF16(rope[:MLARope], record[MLALatent+16:])
}

// EncodeMLA576 writes the 576-byte record (SGLang and vLLM with the trtllm and
// FlashInfer kernels): 576 codes E4M3FN of value divided by scale, which is 1 in
// most engines; no scale is stored. o tells what the engine's cast does above 448.
func EncodeMLA576(record []byte, latent, rope []float32, scale float32, o Overflow) {
	for j, v := range latent[:MLALatent] {
		record[j] = E4M3FN.Encode(v/scale, o)
	}
	for j, v := range rope[:MLARope] {
		record[MLALatent+j] = E4M3FN.Encode(v/scale, o)
	}
}

// DecodeMLA576 reads a 576-byte record: code times scale. Given a 656-byte record
// it reads what a kernel of the wrong kind reads: the roped key is then the four
// scales and half of the real one, as codes.
func DecodeMLA576(latent, rope []float32, record []byte, scale float32) {
	E4M3FN.DecodeScaled(latent[:MLALatent], record, scale)
	E4M3FN.DecodeScaled(rope[:MLARope], record[MLALatent:], scale)
}

// IndexKeyPage is a page of indexer keys: first the codes of all tokens, 128
// each, then a float32 scale for each (DeepGEMM's paged layout; SGLang
// mem_cache/index_key_cache.py).
type IndexKeyPage struct {
	Tokens int    // tokens in a page, 64 on CUDA
	Bytes  []byte // Tokens * IndexKeyRecord
}

// NewIndexKeyPage returns a page of zeros.
func NewIndexKeyPage(tokens int) IndexKeyPage {
	return IndexKeyPage{Tokens: tokens, Bytes: make([]byte, tokens*IndexKeyRecord)}
}

// Put quantises the key of the token in slot i: amax at least 1e-4, scale amax/448
// by rule, codes = value times the reciprocal.
func (p IndexKeyPage) Put(i int, key []float32, rule ScaleRule) {
	var scale [1]float32
	QuantizeFP8Runs(p.Bytes[i*IndexKey:][:IndexKey], scale[:], key[:IndexKey], rule)
	binary.LittleEndian.PutUint32(p.Bytes[p.Tokens*IndexKey+4*i:], math.Float32bits(scale[0]))
}

// Get decodes the key in slot i: code times scale.
func (p IndexKeyPage) Get(i int, key []float32) {
	codes, scale := p.Raw(i)
	E4M3FN.DecodeScaled(key[:IndexKey], codes, scale)
}

// Raw is the codes and the scale in slot i, for logits that apply the scale after
// the dot product.
func (p IndexKeyPage) Raw(i int) (codes []byte, scale float32) {
	return p.Bytes[i*IndexKey:][:IndexKey], math.Float32frombits(binary.LittleEndian.Uint32(p.Bytes[p.Tokens*IndexKey+4*i:]))
}

func putBF16(dst []byte, x []float32) {
	for i, v := range x {
		binary.LittleEndian.PutUint16(dst[2*i:], EncodeBF16(v))
	}
}
