package memfit

import "strings"

// kvBytes is the size of one value of a KV cache.
func kvBytes(dtype string) float64 {
	d := strings.TrimPrefix(dtype, "torch.")
	switch {
	case strings.Contains(d, "fp4"), strings.Contains(d, "float4"):
		return 0.5 + 1.0/16
	case strings.Contains(d, "fp8"), strings.Contains(d, "float8"), strings.Contains(d, "int8"):
		return 1
	case d == "float32":
		return 4
	}
	return bytes16
}

// Bytes of the parts of a DeepSeek-sparse-attention cache, per token and layer.
// Source: sglang/srt/mem_cache/memory_pool.py NSATokenToKVPool (0.5.9),
// vllm/v1/attention/backends/mla/flashmla_sparse.py (0.24).
const (
	scaleBlock = 128 // values that share a float32 scale
	scaleBytes = 4
)

// indexBytes is the key of the index: FP8 values and their scales.
func (s *shape) indexBytes() float64 {
	return float64(s.indexDim + s.indexDim/scaleBlock*scaleBytes)
}

// indexers counts the layers with an index of their own.
func (s *shape) indexers() int {
	n := 0
	for _, l := range s.layers {
		if l.indexer {
			n++
		}
	}
	return n
}

// packedRecord is the FP8 record of sparse attention: FP8 latents with their
// scales, and the rotary part in 16 bits; 656 bytes for 512 + 64.
func (s *shape) packedRecord() float64 {
	return float64(s.kvLora + s.kvLora/scaleBlock*scaleBytes + s.rope*bytes16)
}

// grouped is keys and values of one layer and token on one GPU.
func (s *shape) grouped(attn int, bytes float64) float64 {
	heads := max(1, s.kvHeads/max(attn, 1))
	return float64(heads*(s.headDim+s.vHeadDim)) * bytes
}

// count counts layers of a kind.
func (s *shape) count(kinds ...mixer) int {
	n := 0
	for _, l := range s.layers {
		for _, k := range kinds {
			if l.mixer == k {
				n++
			}
		}
	}
	return n
}

// stateBytes is the state that all layers with one keep for a request, on one
// GPU: a short convolution and the recurrent state.
// Source: sglang/srt/configs/mamba_utils.py Mamba2StateShape (0.5.9);
// recurrent states are float32 unless --mamba-ssm-dtype says otherwise.
func (s *shape) stateBytes(tp int, ssmBytes float64) float64 {
	sum := 0.0
	for _, l := range s.layers {
		switch l.mixer {
		case linear:
			conv := float64((2*s.linKeyHeads*s.linKey + s.linValHeads*s.linVal) / tp * max(s.conv-1, 0))
			sum += conv*bytes16 + float64(s.linValHeads/tp*s.linKey*s.linVal)*ssmBytes
		case mamba:
			conv := float64((s.mambaHeads*s.mambaDim + 2*s.mambaGroup*s.mambaState) / tp * max(s.conv-1, 0))
			sum += conv*bytes16 + float64(s.mambaHeads*s.mambaDim*s.mambaState/tp)*ssmBytes
		}
	}
	return sum
}
