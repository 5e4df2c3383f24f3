package inspect

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
	"shakedown/internal/numfmt"
)

// maxScaleBytes bounds what is read of scales without being asked to read every
// value. GLM-5 in FP8 has 184 MB of them.
const maxScaleBytes = 2 << 30

// scaleFacts is what the scales of some modules say.
type scaleFacts struct {
	scales, inexact   int64 // block scales, and those that are no powers of two
	corrupted, nan    int64 // exponents that unchecked packing gets wrong, and those that become 255
	modules, affected int   // with block scales, and with inexact ones
	first             *checkpoint.Tensor
	bad               []badScale
	badCount          int
	reciprocal        []*checkpoint.Tensor
	global            map[*checkpoint.Tensor]float32
}

// badScale is a scale that is no positive finite number.
type badScale struct {
	tensor *checkpoint.Tensor
	index  int
	value  float32
}

func (f *scaleFacts) join(g scaleFacts) {
	f.scales += g.scales
	f.inexact += g.inexact
	f.corrupted += g.corrupted
	f.nan += g.nan
	f.modules += g.modules
	f.affected += g.affected
	if g.first != nil && (f.first == nil || g.first.Name < f.first.Name) {
		f.first = g.first
	}
	f.bad = append(f.bad, g.bad[:min(len(g.bad), maxBad)]...)
	f.badCount += g.badCount
	f.reciprocal = append(f.reciprocal, g.reciprocal...)
	maps.Copy(f.global, g.global)
}

// scales reads the scales that are stored as ordinary numbers: those of FP8
// weights and all global ones.
func (x *inspector) scales(ctx context.Context) error {
	if x.c.Format != checkpoint.Safetensors || x.c.HeadersOnly() {
		return nil
	}
	var work []*checkpoint.Module
	var size int64
	for _, m := range x.c.Modules() {
		for _, t := range scaleTensors(m) {
			size += t.Size
		}
		if len(scaleTensors(m)) > 0 {
			work = append(work, m)
		}
	}
	if size > maxScaleBytes && !x.o.Scan {
		x.notes = append(x.notes, fmt.Sprintf("%s of scales were not read; --scan reads them", bytesText(size)))
		return nil
	}
	total := scaleFacts{global: map[*checkpoint.Tensor]float32{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range scaleReaders {
		wg.Go(func() {
			f := scaleFacts{global: map[*checkpoint.Tensor]float32{}}
			for i := w; i < len(work) && ctx.Err() == nil; i += scaleReaders {
				f.module(work[i])
			}
			mu.Lock()
			defer mu.Unlock()
			total.join(f)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	x.judgeScales(total)
	x.sharedScales(total.global)
	return nil
}

// scaleReaders is how many scales are read at once: enough to keep a disk busy
// that answers many small reads at a time.
const scaleReaders = 16

// scaleTensors are the scales of a module that are ordinary numbers.
func scaleTensors(m *checkpoint.Module) []*checkpoint.Tensor {
	var out []*checkpoint.Tensor
	scale := m.Scale
	switch m.Storage { // the scales of small groups are a large part of the file
	case checkpoint.FP8Block, checkpoint.FP8Channel, checkpoint.FP8Tensor:
	default:
		scale = nil
	}
	for _, t := range []*checkpoint.Tensor{scale, m.Global, m.Parts["input_scale"], m.Parts["input_global_scale"], m.Parts["k_scale"], m.Parts["v_scale"], m.Parts["kv_scale"]} {
		if t == nil {
			continue
		}
		switch t.DType {
		case checkpoint.F32, checkpoint.BF16, checkpoint.F16:
			out = append(out, t)
		}
	}
	return out
}

// floats decodes a tensor of ordinary numbers; nil when its bytes can't be read,
// which the file's own finding says.
func floats(t *checkpoint.Tensor) []float32 {
	b, err := t.Read()
	if err != nil {
		return nil
	}
	out := make([]float32, t.Elements())
	switch t.DType {
	case checkpoint.F32:
		numfmt.DecodeF32(out, b)
	case checkpoint.BF16:
		numfmt.DecodeBF16(out, b)
	case checkpoint.F16:
		numfmt.DecodeF16(out, b)
	default:
		return nil
	}
	return out
}

// maxBad is how many bad scales a worker keeps.
const maxBad = 64

func (f *scaleFacts) module(m *checkpoint.Module) {
	for _, t := range scaleTensors(m) {
		values := floats(t)
		for i, v := range values {
			if !(v > 0) || math.IsInf(float64(v), 0) {
				f.badCount++
				if len(f.bad) < maxBad {
					f.bad = append(f.bad, badScale{t, i, v})
				}
			}
		}
		switch {
		case t == m.Scale && m.Storage == checkpoint.FP8Block:
			f.blocks(t, values)
		case t == m.Global && len(values) > 0:
			// amax/2688 above 1, or its reciprocal below 1, means weights beyond
			// 2688, which no model has.
			f.global[t] = values[0]
			if v := values[0]; v > 1 && !m.Reciprocal || v > 0 && v < 1 && m.Reciprocal {
				f.reciprocal = append(f.reciprocal, t)
			}
		}
	}
}

// blocks looks at the block scales of one weight as DeepGEMM would pack them.
func (f *scaleFacts) blocks(t *checkpoint.Tensor, values []float32) {
	if len(values) == 0 || len(t.Shape) == 0 {
		return
	}
	cols := t.Shape[len(t.Shape)-1]
	rows := len(values) / cols
	f.modules++
	f.scales += int64(len(values))
	inexact := int64(0)
	for _, v := range values {
		if math.Float32bits(v)&0x007fffff != 0 {
			inexact++
		}
	}
	if inexact == 0 {
		return
	}
	f.inexact += inexact
	f.affected++
	if f.first == nil {
		f.first = t
	}
	words := numfmt.PackUE8M0Rows(values, rows, cols, true)
	perRow := (cols + 3) / 4
	var word [4]byte
	for r := range rows {
		for c := range cols {
			binary.LittleEndian.PutUint32(word[:], words[r*perRow+c/4])
			packed, own := word[c%4], byte(math.Float32bits(values[r*cols+c])>>23)
			if packed != own {
				f.corrupted++
			}
			if packed == 0xff {
				f.nan++
			}
		}
	}
}

// judgeScales makes findings of what was read.
func (x *inspector) judgeScales(f scaleFacts) {
	x.badScales(f)
	if len(f.reciprocal) > 0 {
		var names []string
		for _, t := range f.reciprocal {
			names = append(names, t.Name)
		}
		t := f.reciprocal[0]
		x.add("CKPT-SCALE-004", hit{
			subject: finding.Subject{File: t.File, Tensor: t.Name}, count: len(names), sure: finding.Likely,
			title:    fmt.Sprintf("%s like the reciprocal of one: %s", plural(len(names), "global scale looks", "global scales look"), list(names, 2)),
			evidence: []finding.Evidence{where(t, fmt.Sprintf("value %g", f.global[t]))},
		})
	}
	if f.inexact == 0 {
		return
	}
	share := fmt.Sprintf("%s of %s FP8 scales are no powers of two", group(f.inexact), group(f.scales))
	packed := fmt.Sprintf("packed by exponent alone, %s blocks would get a wrong exponent and %s would be NaN", group(f.corrupted), group(f.nan))
	h := hit{
		subject: finding.Subject{File: f.first.File, Tensor: f.first.Name}, count: int(f.inexact),
		title:    share + "; " + packed,
		evidence: []finding.Evidence{where(f.first, share+"; "+packed), {Kind: "tensor", Text: fmt.Sprintf("%s of %s with block scales", plural(f.affected, "module", "modules"), group(int64(f.modules)))}},
	}
	if q := x.c.Quantisation(); q != nil && strings.EqualFold(q.ScaleFmt, "ue8m0") {
		h.evidence = append(h.evidence, says(sourceFile(q), "quantization_config.scale_fmt", q.ScaleFmt))
		x.add("CKPT-SCALE-003", h)
		return
	}
	use, why := x.scaleUse()
	if use {
		h.severity, h.why, h.sure = finding.Warning, why, finding.Likely
	}
	x.add("CKPT-SCALE-001", h)
}

func (x *inspector) badScales(f scaleFacts) {
	if f.badCount == 0 {
		return
	}
	b := f.bad[0]
	h := hit{
		subject: finding.Subject{File: b.tensor.File, Tensor: b.tensor.Name}, count: f.badCount,
		title: fmt.Sprintf("%s no positive finite number: %s is %g", plural(f.badCount, "scale is", "scales are"), b.tensor.Name, b.value),
	}
	for _, b := range f.bad[:min(len(f.bad), maxEvidence)] {
		h.evidence = append(h.evidence, where(b.tensor, fmt.Sprintf("element %d is %g", b.index, b.value)))
	}
	x.add("CKPT-SCALE-002", h)
}

// sharedScales compares the global scales of gate and up projections, which
// engines fuse.
func (x *inspector) sharedScales(global map[*checkpoint.Tensor]float32) {
	var different []string
	var first *checkpoint.Module
	for _, m := range x.c.Modules() {
		at, ok := strings.CutSuffix(m.Name, ".gate_proj")
		if !ok || m.Global == nil {
			continue
		}
		up := x.c.Module(at + ".up_proj")
		if up == nil || up.Global == nil {
			continue
		}
		a, okA := global[m.Global]
		b, okB := global[up.Global]
		if okA && okB && a != b {
			different = append(different, m.Name)
			if first == nil {
				first = m
			}
		}
	}
	if first != nil {
		x.add("CKPT-QUANT-015", hit{
			subject: finding.Subject{File: first.Global.File, Tensor: first.Global.Name}, count: len(different), severity: x.onNamed("sglang", "vllm"),
			title:    fmt.Sprintf("Gate and up projection have different global scales in %s: %s", plural(len(different), "module", "modules"), list(different, 2)),
			evidence: []finding.Evidence{where(first.Global, fmt.Sprintf("value %g, that of up_proj is another", global[first.Global]))},
		})
	}
}

// bytesText writes a size.
func bytesText(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
