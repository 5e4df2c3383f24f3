package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

// Storage says how the weight of a module is stored.
type Storage string

// Storages. Codes are the tensor Module.Weight, scales Module.Scale.
const (
	Plain      Storage = "plain"       // the tensor's own floating point type
	FP8Block   Storage = "fp8-block"   // FP8 times one scale per block; weight_scale_inv is the multiplier in spite of its name
	FP8Tensor  Storage = "fp8-tensor"  // FP8 times one scale
	FP8Channel Storage = "fp8-channel" // FP8 times one scale per output row
	FP8Bare    Storage = "fp8"         // FP8 without any scale
	NVFP4      Storage = "nvfp4"       // E2M1 pairs, E4M3 scale per 16, global float32 scale
	MXFP4Block Storage = "mxfp4"       // E2M1 pairs, E8M0 scale per 32
	MXFP8Block Storage = "mxfp8"       // FP8, E8M0 scale per 32
	PackedInt  Storage = "packed-int"  // compressed-tensors: integers packed along K into int32
	GPTQ       Storage = "gptq"        // integers packed along K into the rows of qweight
	AWQ        Storage = "awq"         // integers packed along N into the columns of qweight
	Int8       Storage = "int8"        // int8 times scales
	GGMLBlock  Storage = "ggml"        // a block format of ggml, named by the tensor's type
)

// Module is what owns one weight, with every tensor that belongs to it.
type Module struct {
	Name    string
	Storage Storage
	// Weight holds the codes or values; nil when the module has none.
	Weight *Tensor
	// Scale is the scale nearest to the codes, Global the one above it; with
	// Reciprocal, Global divides instead of multiplying.
	Scale, Global *Tensor
	Reciprocal    bool
	// Out and In are the logical rows and columns of a quantised weight, 0 when
	// unknown. BlockOut and BlockIn say how many of them share one scale.
	Out, In           int
	BlockOut, BlockIn int
	// Parts are all tensors by the last part of their name.
	Parts map[string]*Tensor
	// Missing names the parts that the storage needs and that are not there.
	Missing []string
	// Odd says what contradicts the storage, in words; empty when nothing does.
	Odd string
}

// Quantised says whether the weight is not stored as plain numbers.
func (m *Module) Quantised() bool { return m.Storage != Plain && m.Storage != "" }

// parts are the names of tensors that belong to the module in front of them.
var parts = map[string]bool{
	"weight": true, "bias": true,
	"weight_scale_inv": true, "weight_scale": true, "weight_scale_2": true, "input_scale": true,
	"weight_packed": true, "weight_global_scale": true, "input_global_scale": true, "weight_shape": true,
	"weight_zero_point": true, "weight_g_idx": true, "input_zero_point": true, "output_scale": true,
	"qweight": true, "qzeros": true, "scales": true, "g_idx": true,
	"k_scale": true, "v_scale": true, "q_scale": true, "kv_scale": true, "k_zero_point": true, "v_zero_point": true,
	"pre_quant_scale": true, "activation_scale": true, "scale": true,
}

// splitPart cuts a tensor's name into module and part. A name without a known
// part is a module of its own: fused experts of transformers 5 are called
// mlp.experts.gate_up_proj.
func splitPart(tensor string) (module, part string) {
	if i := strings.LastIndexByte(tensor, '.'); i > 0 && parts[tensor[i+1:]] {
		return tensor[:i], tensor[i+1:]
	}
	for _, p := range []struct{ suffix, part string }{{"_blocks", "weight_packed"}, {"_scales", "weight_scale"}} { // gpt-oss
		if module, ok := strings.CutSuffix(tensor, p.suffix); ok && module != "" {
			return module, p.part
		}
	}
	return tensor, "weight"
}

// Modules groups the tensors into modules by name.
func (c *Checkpoint) Modules() []*Module {
	c.grouping.Do(func() {
		c.modules = map[string]*Module{}
		for _, t := range c.tensors {
			name, part := splitPart(t.Name)
			m := c.modules[name]
			if m == nil {
				m = &Module{Name: name, Parts: map[string]*Tensor{}}
				c.modules[name] = m
				c.ordered = append(c.ordered, m)
			}
			m.Parts[part] = t
		}
		slices.SortFunc(c.ordered, func(a, b *Module) int { return strings.Compare(a.Name, b.Name) })
		bits := c.Quantisation().bits()
		for _, m := range c.ordered {
			m.classify(bits)
		}
	})
	return c.ordered
}

// Module finds a module by name; nil when there is none.
func (c *Checkpoint) Module(name string) *Module {
	c.Modules()
	return c.modules[name]
}

// classify decides the storage from the tensors. bits is the width of packed
// integers according to the configuration: the tensors alone do not tell it.
func (m *Module) classify(bits int) {
	for _, part := range []string{"weight", "weight_packed", "qweight"} {
		if t := m.Parts[part]; t != nil {
			m.Weight = t
			break
		}
	}
	switch w := m.Weight; {
	case w == nil:
		if m.Parts["weight_scale_inv"] != nil || m.Parts["weight_scale"] != nil {
			m.Odd = "scales without a weight"
		}
	case !w.Known():
		m.byNames()
	case m.Parts["qweight"] != nil:
		m.groupedInt(bits)
	case m.Parts["weight_packed"] != nil:
		m.packed(bits)
	default:
		m.byType()
	}
}

// byType classifies a module whose codes are called weight.
func (m *Module) byType() {
	w := m.Weight
	switch w.DType {
	case F8E4M3, F8E5M2, "F8_E4M3FNUZ", "F8_E5M2FNUZ":
		m.fp8()
	case U8, F4, I8:
		scale := m.Parts["weight_scale"]
		switch {
		case w.DType == I8:
			m.Storage, m.Scale = Int8, scale
			m.need("weight_scale")
			m.int8()
		case m.Parts["weight_scale_2"] != nil || scale != nil && scale.DType == F8E4M3:
			m.Storage, m.Scale, m.Global = NVFP4, scale, m.Parts["weight_scale_2"]
			m.need("weight_scale", "weight_scale_2")
			m.pairs(16)
		case scale != nil:
			m.Storage, m.Scale = MXFP4Block, scale
			m.pairs(32)
		case len(m.Parts) > 1 || w.DType == F4:
			m.Storage = NVFP4
			m.need("weight_scale", "weight_scale_2")
			m.pairs(16)
		default:
			m.Storage = Plain
		}
	default:
		if _, plain := safetensorsTypes[w.DType]; !plain {
			m.Storage = GGMLBlock
			return
		}
		m.Storage = Plain
		for _, part := range []string{"weight_scale_inv", "weight_scale", "weight_scale_2"} {
			if m.Parts[part] != nil {
				m.Odd = fmt.Sprintf("%s beside a weight that is %s and not quantised", part, w.DType)
			}
		}
	}
	if m.Storage == Plain && len(w.Shape) == 2 {
		m.Out, m.In = w.Shape[0], w.Shape[1]
	}
}

// fp8 tells the kinds of FP8 apart by their scales.
func (m *Module) fp8() {
	w := m.Weight
	m.Storage = FP8Bare
	if len(w.Shape) == 2 {
		m.Out, m.In = w.Shape[0], w.Shape[1]
	}
	s := m.Parts["weight_scale_inv"]
	if s == nil {
		s = m.Parts["weight_scale"]
	}
	if s == nil {
		m.Missing = append(m.Missing, "weight_scale_inv")
		return
	}
	m.Scale = s
	switch {
	case s.Elements() == 1 && len(s.Shape) < 2, s.Elements() == 1 && m.Parts["weight_scale_inv"] == nil:
		m.Storage, m.BlockOut, m.BlockIn = FP8Tensor, m.Out, m.In
	case len(w.Shape) != 2:
		m.Storage = FP8Block // stacked experts: the last two dimensions hold the blocks
	case len(s.Shape) == 1 && s.Shape[0] == m.Out, len(s.Shape) == 2 && s.Shape[0] == m.Out && s.Shape[1] == 1 && m.Parts["weight_scale_inv"] == nil:
		m.Storage, m.BlockOut, m.BlockIn = FP8Channel, 1, m.In
	case (s.DType == U8 || s.DType == F8E8M0) && len(s.Shape) == 2 && s.Shape[0] == m.Out && s.Shape[1] == (m.In+31)/32:
		m.Storage, m.BlockOut, m.BlockIn = MXFP8Block, 1, 32
	case len(s.Shape) == 2:
		m.Storage, m.BlockOut, m.BlockIn = FP8Block, fp8Block, fp8Block
		if s.Shape[0] != ceil(m.Out, fp8Block) || s.Shape[1] != ceil(m.In, fp8Block) {
			m.Odd = fmt.Sprintf("%s has shape %v, blocks of 128x128 of %v need %v", last(s.Name), s.Shape, w.Shape, []int{ceil(m.Out, fp8Block), ceil(m.In, fp8Block)})
		}
	default:
		m.Odd = fmt.Sprintf("%s has shape %v, which fits no FP8 format of a weight %v", last(s.Name), s.Shape, w.Shape)
	}
}

// fp8Block is the side of an FP8 block. Nobody publishes another size, and the
// last block of a side may be partial, so that it can't be told from the shapes.
const fp8Block = 128

func ceil(n, d int) int { return (n + d - 1) / d }

func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// pairs checks a weight of two 4-bit codes per byte with a scale per group.
func (m *Module) pairs(group int) {
	w := m.Weight
	m.BlockOut, m.BlockIn = 1, group
	if len(w.Shape) != 2 {
		return
	}
	m.Out, m.In = w.Shape[0], 2*w.Shape[1]
	if w.DType == F4 {
		m.In = w.Shape[1]
	}
	if s := m.Scale; s != nil && (len(s.Shape) != 2 || s.Shape[0] != m.Out || s.Shape[1] != ceil(m.In, group)) {
		m.Odd = fmt.Sprintf("%s has shape %v, groups of %d of %v need %v", last(s.Name), s.Shape, group, []int{m.Out, m.In}, []int{m.Out, ceil(m.In, group)})
	}
}

// packed classifies weight_packed of compressed-tensors and of gpt-oss.
func (m *Module) packed(bits int) {
	w := m.Weight
	m.Scale = m.Parts["weight_scale"]
	switch {
	case w.DType == I32:
		m.Storage = PackedInt
		m.need("weight_scale")
		if len(w.Shape) != 2 {
			return
		}
		m.Out, m.In = w.Shape[0], w.Shape[1]*32/bits
		m.BlockOut, m.BlockIn = 1, m.In
		if s := m.Scale; s != nil && len(s.Shape) == 2 && s.Shape[1] > 0 {
			m.BlockIn = m.In / s.Shape[1]
			if s.Shape[0] != m.Out || m.BlockIn == 0 {
				m.Odd = fmt.Sprintf("weight_scale has shape %v, a weight of %v needs a row of scales for each of its rows", s.Shape, []int{m.Out, m.In})
			}
		}
	case m.Parts["weight_global_scale"] != nil || m.Scale != nil && m.Scale.DType == F8E4M3:
		m.Storage, m.Global, m.Reciprocal = NVFP4, m.Parts["weight_global_scale"], true
		m.need("weight_scale", "weight_global_scale")
		m.pairs(16)
	default:
		m.Storage = MXFP4Block
		m.need("weight_scale")
		if m.BlockOut, m.BlockIn = 1, 32; len(w.Shape) == 2 {
			m.pairs(32)
		}
	}
}

// int8 checks a weight of one code per byte with a scale per tensor, row or group.
func (m *Module) int8() {
	w, s := m.Weight, m.Scale
	if len(w.Shape) != 2 {
		return
	}
	m.Out, m.In = w.Shape[0], w.Shape[1]
	m.BlockOut, m.BlockIn = 1, m.In
	switch {
	case s == nil:
	case s.Elements() == 1:
		m.BlockOut = m.Out
	case len(s.Shape) == 1 && s.Shape[0] == m.Out:
	case len(s.Shape) == 2 && s.Shape[0] == m.Out && s.Shape[1] > 0 && m.In%s.Shape[1] == 0:
		m.BlockIn = m.In / s.Shape[1]
	default:
		m.Odd = fmt.Sprintf("weight_scale has shape %v, which fits no int8 format of a weight %v", s.Shape, w.Shape)
	}
}

// groupedInt tells GPTQ from AWQ by the direction in which qweight is packed.
func (m *Module) groupedInt(bits int) {
	q := m.Weight
	m.Scale = m.Parts["scales"]
	m.Storage = GPTQ
	m.need("scales", "qzeros")
	if m.Scale == nil || len(q.Shape) != 2 || len(m.Scale.Shape) != 2 {
		return
	}
	groups, out := m.Scale.Shape[0], m.Scale.Shape[1]
	perWord := 32 / bits
	switch {
	case q.Shape[1] == out:
		m.Out, m.In = out, q.Shape[0]*32/bits
	case q.Shape[1]*perWord == out:
		m.Storage, m.Out, m.In = AWQ, out, q.Shape[0]
	default:
		m.Odd = fmt.Sprintf("qweight %v and scales %v fit neither GPTQ nor AWQ of %d bits", q.Shape, m.Scale.Shape, bits)
		return
	}
	if groups > 0 {
		m.BlockOut, m.BlockIn = 1, m.In/groups
	}
}

// need lists the parts that are not there.
func (m *Module) need(names ...string) {
	for _, n := range names {
		if m.Parts[n] == nil {
			m.Missing = append(m.Missing, n)
		}
	}
}

// byNames classifies by the names of the parts, when nothing else is known.
func (m *Module) byNames() {
	has := func(part string) bool { return m.Parts[part] != nil }
	m.Storage = Plain
	switch {
	case has("qweight"):
		m.Storage = GPTQ
	case has("weight_packed") && has("weight_global_scale"):
		m.Storage, m.Reciprocal = NVFP4, true
	case has("weight_packed") && has("weight_shape"):
		m.Storage = PackedInt
	case has("weight_packed"):
		m.Storage = MXFP4Block
	case has("weight_scale_2"):
		m.Storage = NVFP4
	case has("weight_scale_inv"):
		m.Storage = FP8Block
	case has("weight_scale"):
		m.Storage = FP8Tensor
	}
}
