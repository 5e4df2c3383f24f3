package inspect

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
)

// describeGGUF fills in what the metadata of a GGUF file says.
func (x *inspector) describeGGUF(m *finding.CheckpointMsg) {
	meta := x.c.Meta
	if meta == nil {
		return
	}
	arch, _ := meta.Str("general.architecture")
	m.Family = arch
	if name, ok := meta.Str("general.name"); ok {
		m.Architecture = name
	}
	field := func(name string) int { n, _ := meta.Int(arch + "." + name); return int(min(max(n, 0), 1<<31)) }
	m.Layers, m.ContextLength = field("block_count"), field("context_length")
	m.Quantisation = ggufTypes(x.c)
	heads, kv := field("attention.head_count"), field("attention.head_count_kv")
	key, value := field("attention.key_length"), field("attention.value_length")
	if heads > 0 && key == 0 {
		key = field("embedding_length") / heads
	}
	if value == 0 {
		value = key
	}
	if latent := field("attention.kv_lora_rank"); latent > 0 {
		rope := field("rope.dimension_count")
		m.KV = append(m.KV, finding.KVLayout{Name: "f16", BytesPerToken: float64(m.Layers) * float64(latent+rope) * 2, How: fmt.Sprintf("%d layers x (%d latent + %d rotary values) x 2 bytes", m.Layers, latent, rope)})
	} else if kv > 0 && key > 0 && m.Layers > 0 {
		m.KV = append(m.KV, finding.KVLayout{Name: "f16", BytesPerToken: float64(m.Layers) * float64(kv) * float64(key+value) * 2, How: fmt.Sprintf("%d layers x %d KV heads x (%d + %d) values x 2 bytes", m.Layers, kv, key, value)})
	}
}

// ggufTypes counts the tensors of each type, the most frequent first.
func ggufTypes(c *checkpoint.Checkpoint) string {
	count := map[string]int{}
	for _, t := range c.Tensors() {
		count[string(t.DType)]++
	}
	var names []string
	for n := range count {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	for i, n := range names {
		names[i] = fmt.Sprintf("%s x %d", n, count[n])
	}
	return strings.Join(names, ", ")
}

// ggufShapes compares the tensors of a GGUF file with its metadata.
func (x *inspector) ggufShapes() {
	meta := x.c.Meta
	if meta == nil || x.incomplete() {
		return
	}
	arch, ok := meta.Str("general.architecture")
	if !ok {
		x.add("CKPT-CONF-004", hit{
			subject: finding.Subject{File: x.someFile(), Field: "general.architecture"},
			title:   "The GGUF file does not name its architecture",
		})
		return
	}
	number := func(name string) int { n, _ := meta.Int(arch + "." + name); return int(min(max(n, 0), 1<<31)) }
	layers, hidden, inter := number("block_count"), number("embedding_length"), number("feed_forward_length")
	heads, kv := number("attention.head_count"), number("attention.head_count_kv")
	for _, name := range []string{"block_count", "embedding_length", "attention.head_count"} {
		if _, ok := meta.Int(arch + "." + name); !ok && meta.Ints(arch+"."+name) == nil {
			x.add("CKPT-CONF-004", hit{
				subject:  finding.Subject{File: x.someFile(), Field: arch + "." + name},
				title:    fmt.Sprintf("The metadata of the GGUF file lacks %s.%s", arch, name),
				evidence: []finding.Evidence{says(x.someFile(), arch+"."+name, "absent")},
			})
		}
	}
	var missing []string
	for _, name := range []string{"token_embd.weight", "output_norm.weight"} {
		if x.c.Tensor(name) == nil && layers > 0 {
			missing = append(missing, name)
		}
	}
	for i := range min(layers, maxLayers) {
		if !slices.ContainsFunc([]string{"attn_norm.weight", "attn_norm_2.weight", "attn_output.weight", "ssm_in.weight", "attn_qkv.weight", "attn_post_norm.weight", "ffn_norm.weight"}, func(part string) bool {
			return x.c.Tensor(fmt.Sprintf("blk.%d.%s", i, part)) != nil
		}) {
			missing = append(missing, fmt.Sprintf("blk.%d.attn_norm.weight", i))
		}
	}
	if len(missing) > 0 {
		x.add("CKPT-SHAPE-002", hit{
			subject: finding.Subject{File: x.someFile(), Tensor: missing[0]}, count: len(missing),
			title:    fmt.Sprintf("%s that the metadata promises %s missing: %s", plural(len(missing), "tensor", "tensors"), isAre(len(missing)), list(missing, 3)),
			evidence: []finding.Evidence{{Kind: "tensor", Tensor: list(missing, 3), Text: "not in the file"}},
		})
	}
	key := number("attention.key_length")
	if key == 0 && heads > 0 {
		key = hidden / heads
	}
	var wrong []mismatch
	check := func(name, why string, shape ...int) {
		t := x.c.Tensor(name)
		if t == nil || slices.Contains(shape, 0) || slices.Equal(t.Shape, shape) {
			return
		}
		wrong = append(wrong, mismatch{want{shape: shape, why: why}, t, t.Shape})
	}
	check("output_norm.weight", "embedding_length", hidden)
	if t := x.c.Tensor("token_embd.weight"); t != nil && len(t.Shape) == 2 {
		check("token_embd.weight", "embedding_length", t.Shape[0], hidden)
	}
	for i := range min(layers, maxLayers) {
		at := fmt.Sprintf("blk.%d.", i)
		check(at+"attn_norm.weight", "embedding_length", hidden)
		if number("attention.kv_lora_rank") == 0 {
			check(at+"attn_q.weight", "attention.head_count x key_length, embedding_length", heads*key, hidden)
			check(at+"attn_k.weight", "attention.head_count_kv x key_length, embedding_length", kv*key, hidden)
		}
		check(at+"ffn_up.weight", "feed_forward_length, embedding_length", inter, hidden)
		check(at+"ffn_down.weight", "embedding_length, feed_forward_length", hidden, inter)
	}
	x.wrong(wrong)
}
