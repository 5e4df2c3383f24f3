package reference

import (
	"strconv"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/oracle/family"
	"shakedown/internal/probe"
)

// fault is a failure of the public record: what goes wrong, and the class of its
// cause.
type fault struct{ words, cause string }

// candidate is an arithmetic that the server may compute with.
type candidate struct {
	numerics string
	coarse   bool   // a KV cache of eight bits
	overflow fault  // what it is when its numbers are not finite
	fault    *fault // what it plays; nil for none
}

var (
	overflowF16 = fault{"activations in float16 overflow (--dtype half on a bfloat16 model)", "numerics-nan"}
	zeroTile    = fault{"a tile of zeros gets the scale 0 in the FP8 record of the KV cache", "kv-cache-dtype"}
	ownNaN      = fault{"the checkpoint itself gives NaN", "checkpoint-incomplete"}
)

// pages are the page sizes of KV caches: 1 and 64 in SGLang, 16 in vLLM, 32 and 64
// in TensorRT-LLM and LMDeploy, 128 and 256 in NPU and DSA backends.
var pages = []int{1, 8, 16, 32, 64, 128, 256}

// plan are the arithmetics in the order in which they are computed, by stages: what
// a right server may compute with, finest first, then KV caches of eight bits, then
// faults. Cheap and likely ones come first, since the first that is the server's
// own ends the search.
func (o *Oracle) plan(t *probe.Target) [][]candidate {
	s := o.src.Spec
	base := "sglang-bf16kv"
	if t.Engine == "vllm" {
		base = "vllm-bf16kv"
	}
	var fine, coarse []candidate
	if o.src.Files.Format == checkpoint.GGUF {
		base = "ggml"
		fine = sound("exact", "ggml", "ggml,kv=f32", "hf-bf16")
	} else {
		fine = sound("exact", "hf-bf16", "sglang-bf16kv", "vllm-bf16kv", "exact,gemm=scheme")
	}
	fine = append(fine, candidate{numerics: "hf-bf16,act=f16", overflow: overflowF16})
	for _, n := range []string{"vllm-fp8-ds-mla", base + ",kv=fp8_656", "sglang-0.5.18-sm100-auto", "exact,kv=fp8_ds_mla", "sglang-0.5.9-sm120-auto,scales=exact"} {
		coarse = append(coarse, candidate{numerics: n, coarse: true, overflow: zeroTile})
	}
	if eightBits(t) { // the server says so: these are its own
		fine, coarse = append(coarse, fine...), nil
	}
	return [][]candidate{fine, coarse, faults(s, o.src.Files, base, t.Page)}
}

func sound(names ...string) []candidate {
	var list []candidate
	for _, n := range names {
		list = append(list, candidate{numerics: n, overflow: ownNaN})
	}
	return list
}

// eightBits says whether the server tells of an FP8 KV cache.
func eightBits(t *probe.Target) bool {
	for _, name := range []string{"kv_cache_dtype", "cache_config.cache_dtype"} {
		if strings.HasPrefix(t.Settings[name], "fp8") {
			return true
		}
	}
	return false
}

// faults are those of docs/faults.md that this checkpoint can have. What needs
// least to be assumed comes first: it is named when several give the same numbers,
// which they do when all are NaN.
func faults(s *family.Spec, files *checkpoint.Checkpoint, base string, page int) []candidate {
	var list []candidate
	add := func(words, cause string, switches ...string) {
		f := &fault{words, cause}
		for _, sw := range switches {
			list = append(list, candidate{numerics: sw, fault: f})
		}
	}
	has := stored(files)
	mla, moe, sparse := false, false, false
	for _, l := range s.Layers {
		mla = mla || l.MLA != nil
		moe = moe || l.MoE != nil
		sparse = sparse || l.MLA != nil && l.MLA.Indexer != nil
	}
	if has[checkpoint.FP8Block] {
		add("float32 block scales are packed as if they were powers of two (DeepGEMM)", "numerics-nan", base+",scales=deepgemm-packed", base+",scales=deepgemm-packed,expert-scales=exact")
		add("block scales are rounded up to powers of two and the codes stay", "numerics-garbage", base+",scales=ceil-only")
	}
	if has[checkpoint.NVFP4] {
		add("input_scale of NVFP4 matrices is missing and read as 0", "checkpoint-incomplete", base+",fault=no-input-scale")
	}
	if mla {
		add("FP8 records of the KV cache are written with 656 bytes and read with 576", "kv-cache-dtype", base+",kv=fp8_656-read-as-576")
	}
	add("a rotation pairs i with i+n/2 where the model pairs 2i with 2i+1", "numerics-garbage", base+",rope=half", "exact,rope=half")
	add("a rotation pairs 2i with 2i+1 where the model pairs i with i+n/2", "numerics-garbage", base+",rope=interleave", "exact,rope=interleave")
	if sparse {
		add("the indexer's rotation pairs i with i+n/2", "numerics-garbage", base+",index-rope=half", "exact,index-rope=half")
		add("the indexer's rotation pairs 2i with 2i+1", "numerics-garbage", base+",index-rope=interleave", "exact,index-rope=interleave")
	}
	if moe {
		add("gate and up of experts are taken for each other", "numerics-garbage", base+",fault=swap-gate-up", "exact,fault=swap-gate-up")
		add("the shared expert is counted as one more routed choice", "numerics-garbage", base+",fault=fused-shared-count", "exact,fault=fused-shared-count")
	}
	for _, p := range append([]int{page}, pages...) {
		if p > 0 {
			add("the second page of "+strconv.Itoa(p)+" tokens of the KV cache holds what the first one holds", "numerics-garbage", base+",fault=stale-page,page="+strconv.Itoa(p))
		}
	}
	add("half of the rows of down_proj were never loaded", "checkpoint-incomplete", base+",fault=uninitialised-shard")
	return list
}

// stored are the ways in which matrices are stored.
func stored(c *checkpoint.Checkpoint) map[checkpoint.Storage]bool {
	has := map[checkpoint.Storage]bool{}
	for _, m := range c.Modules() {
		has[m.Storage] = true
	}
	return has
}
