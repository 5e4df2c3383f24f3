package numfmt

import "math"

// FP8Block is the side of the square weight blocks of DeepSeek's and GLM's FP8
// checkpoints, and the length of the runs of activations with one scale.
const FP8Block = 128

// amaxFloor is the smallest magnitude that DeepSeek's and DeepGEMM's quantisers
// take for a block, so that a block of zeros has a usable scale.
const amaxFloor = 1e-4

// DecodeFP8Row decodes one row of a matrix with one scale per blockRows x
// blockCols: code times scale. scales is the row of the scale grid that the
// weight row lies in (grid row = row / blockRows); the last block may be partial.
func DecodeFP8Row(dst []float32, f FP8, codes []byte, scales []float32, blockCols int) {
	for i := 0; i < len(dst); i += blockCols {
		end := min(i+blockCols, len(dst))
		f.DecodeScaled(dst[i:end], codes[i:end], scales[i/blockCols])
	}
}

// DecodeFP8Blocks decodes a rows x cols matrix with 128x128 blocks; scales is the
// grid ceil(rows/128) x ceil(cols/128), row-major. Edge blocks are partial. The
// block size is never derived from the grid: [160,128] with a [2,1] grid has
// blocks of 128 and 32 rows.
func DecodeFP8Blocks(codes []byte, scales []float32, rows, cols int) []float32 {
	grid := (cols + FP8Block - 1) / FP8Block
	out := make([]float32, rows*cols)
	for r := range rows {
		DecodeFP8Row(out[r*cols:(r+1)*cols], E4M3FN, codes[r*cols:(r+1)*cols], scales[r/FP8Block*grid:], FP8Block)
	}
	return out
}

// ScaleRule says how a quantiser turns the largest magnitude of a block into its
// scale.
type ScaleRule uint8

const (
	// ScaleFloat is amax/448, any float32.
	ScaleFloat ScaleRule = iota
	// ScaleUE8M0 is amax/448 rounded up to a power of two.
	ScaleUE8M0
)

// fp8Scale is the scale for a largest magnitude that was floored already.
func (r ScaleRule) fp8Scale(amax float32) float32 {
	s := amax / 448
	if r == ScaleUE8M0 {
		return CeilUE8M0(s)
	}
	return s
}

// QuantizeFP8Blocks quantises a row-major matrix to E4M3FN with 128x128 blocks
// (per_block_cast_to_fp8 of DeepGEMM): amax at least 1e-4, codes = value times
// the reciprocal of the scale, saturating.
func QuantizeFP8Blocks(w []float32, rows, cols int, rule ScaleRule) (codes []byte, scales []float32) {
	codes = make([]byte, rows*cols)
	for r0 := 0; r0 < rows; r0 += FP8Block {
		r1 := min(r0+FP8Block, rows)
		for c0 := 0; c0 < cols; c0 += FP8Block {
			c1 := min(c0+FP8Block, cols)
			amax := float32(amaxFloor)
			for r := r0; r < r1; r++ {
				amax = maxNaN(amax, absMax(w[r*cols+c0:r*cols+c1]))
			}
			s := rule.fp8Scale(amax)
			scales = append(scales, s)
			inverse := 1 / s
			for r := r0; r < r1; r++ {
				for c := c0; c < c1; c++ {
					codes[r*cols+c] = E4M3FN.Encode(w[r*cols+c]*inverse, Saturate)
				}
			}
		}
	}
	return codes, scales
}

// maxNaN is the larger, NaN if one is NaN.
func maxNaN(a, b float32) float32 {
	if a != a || b != b {
		return float32(math.NaN())
	}
	return max(a, b)
}

// RequantizeUE8M0 turns 128x128 FP8 blocks with any scales into blocks whose
// scales are powers of two, as engines do before DeepGEMM on SM100 (SGLang
// requant_weight_ue8m0): dequantise, round to BF16, quantise anew. It costs up to
// one mantissa bit.
func RequantizeUE8M0(codes []byte, scales []float32, rows, cols int) ([]byte, []float32) {
	w := DecodeFP8Blocks(codes, scales, rows, cols)
	RoundBF16s(w)
	return QuantizeFP8Blocks(w, rows, cols, ScaleUE8M0)
}

// QuantizeFP8Runs quantises one row of activations in runs of 128 columns with a
// scale each (per_token_cast_to_fp8 of DeepGEMM, act_quant of DeepSeek): amax at
// least 1e-4, codes = value times the reciprocal of the scale, saturating. codes
// and scales have room for len(x) and ceil(len(x)/128).
func QuantizeFP8Runs(codes []byte, scales, x []float32, rule ScaleRule) {
	for i := 0; i < len(x); i += FP8Block {
		end := min(i+FP8Block, len(x))
		s := rule.fp8Scale(maxNaN(amaxFloor, absMax(x[i:end])))
		scales[i/FP8Block] = s
		inverse := 1 / s
		for j := i; j < end; j++ {
			codes[j] = E4M3FN.Encode(x[j]*inverse, Saturate)
		}
	}
}

// FP8Activation replaces one row of activations by what is left of it after
// QuantizeFP8Runs: code times scale. dst may be x.
func FP8Activation(dst, x []float32, rule ScaleRule) {
	for i := 0; i < len(x); i += FP8Block {
		run := x[i:min(i+FP8Block, len(x))]
		s := rule.fp8Scale(maxNaN(amaxFloor, absMax(run)))
		inverse := 1 / s
		for j, v := range run {
			dst[i+j] = tables[E4M3FN][saturatedE4M3FN(v*inverse)] * s
		}
	}
}

// FP8TokenActivation replaces one row of activations by what is left of it with
// one dynamic scale for the whole row (per-token FP8): scale = amax/448, at least
// 1/(448*512) as in vLLM's and SGLang's kernels, codes = value divided by it,
// saturating. dst may be x.
func FP8TokenActivation(dst, x []float32) {
	scale := maxNaN(absMax(x)/448, 1.0/(448*512))
	FP8StaticActivation(dst, x, scale)
}

// FP8StaticActivation replaces activations by what is left of them with a given
// scale (per-tensor FP8 with input_scale): codes = value divided by scale,
// saturating. A scale of zero, as of a tensor that a loader left out, gives NaN
// for zeros and for all else: infinity saturates to 448, times zero. dst may be x.
func FP8StaticActivation(dst, x []float32, scale float32) {
	for i, v := range x {
		dst[i] = tables[E4M3FN][E4M3FN.Encode(v/scale, Saturate)] * scale
	}
}
