package hardware

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// UnknownError says that no profile has the name.
type UnknownError struct {
	Name string
	Near []string // names of profiles that are spelled like it, best first
}

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("GPU %q is not known", e.Name)
	if len(e.Near) > 0 {
		msg += "; similar: " + strings.Join(e.Near, ", ")
	}
	return msg + "; or describe it: \"8x " + e.Name + ",sm=12.0,mem=96GiB\""
}

// maxCount is more GPUs than any launch has, and maxMemory more memory.
const (
	maxCount  = 100_000
	maxMemory = 4 << 20 // MiB: 4 TiB
)

var countForm = regexp.MustCompile(`^\s*(\d+)\s*[xX*×]\s*(.+)$|^\s*(.+?)\s+[xX*×]\s*(\d+)\s*$`)

// Parse reads a description of the GPUs of a launch: "8x RTX PRO 6000",
// "H200", "RTX 4090 x 2"; with values of its own for a device without a
// profile, or of a variant: "8x MyGPU,sm=12.0,mem=96GiB". Without a number it is
// one device.
//
// An unknown name is an *UnknownError. Values that contradict the profile of
// the name, or each other, are an error.
func Parse(text string) (GPU, error) {
	parts := strings.Split(text, ",")
	name, count := strings.TrimSpace(parts[0]), 1
	if strings.ContainsRune(name, '=') {
		return GPU{}, fmt.Errorf("GPU %q: the name comes first: \"8x MyGPU,sm=12.0,mem=96GiB\"", text)
	}
	if m := countForm.FindStringSubmatch(name); m != nil {
		digits := m[1] + m[4]
		n, err := strconv.Atoi(digits)
		if err != nil || n > maxCount {
			return GPU{}, fmt.Errorf("GPU %q: %s devices are more than %d", text, digits, maxCount)
		}
		name, count = strings.TrimSpace(m[2]+m[3]), n
	}
	if name == "" {
		return GPU{}, errors.New("GPU without a name: want a form like \"8x RTX PRO 6000\"")
	}
	if count == 0 {
		return GPU{}, fmt.Errorf("GPU %q: a launch needs at least one device", text)
	}
	asked, err := values(text, parts[1:])
	if err != nil {
		return GPU{}, err
	}
	if p, ok := Find(name); ok {
		return p.with(text, count, asked)
	}
	if asked.sm == "" && asked.mib == 0 {
		return GPU{}, &UnknownError{Name: name, Near: near(name)}
	}
	if asked.sm == "" || asked.mib == 0 {
		return GPU{}, fmt.Errorf("GPU %q: a device without a profile needs both values: \"%s,sm=12.0,mem=96GiB\"", text, parts[0])
	}
	return GPU{Name: name, SM: asked.sm, MemoryMiB: asked.mib, MemoryGiB: gib(asked.mib), Count: count}, nil
}

// explicit are the values of a description.
type explicit struct {
	sm  string
	mib int
}

var (
	smForm  = regexp.MustCompile(`^(?:sm_?)?(\d{1,2})\.?(\d)a?$`)
	gfxForm = regexp.MustCompile(`^gfx[0-9a-f]{3,4}$`)
	memForm = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*(GiB|GB|G|MiB|MB|M)?$`)
)

func values(text string, parts []string) (explicit, error) {
	var e explicit
	for _, part := range parts {
		key, value, ok := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case ok && key == "sm" && e.sm == "":
			sm, ok := readSM(value)
			if !ok {
				return e, fmt.Errorf("GPU %q: sm=%s is no compute capability: want a form like 12.0, sm120 or gfx942", text, value)
			}
			e.sm = sm
		case ok && key == "mem" && e.mib == 0:
			mib, ok := readMemory(value)
			if !ok {
				return e, fmt.Errorf("GPU %q: mem=%s is no memory of a device: want a form like 96GiB or 97887MiB", text, value)
			}
			e.mib = mib
		case ok && (key == "sm" || key == "mem"):
			return e, fmt.Errorf("GPU %q: %s is given twice", text, key)
		default:
			return e, fmt.Errorf("GPU %q: cannot read %q: the values are sm=12.0 and mem=96GiB", text, strings.TrimSpace(part))
		}
	}
	return e, nil
}

// readSM reads a capability in any spelling: "12.0", "120", "sm_120", "sm100a",
// "gfx942".
func readSM(text string) (string, bool) {
	text = strings.ToLower(text)
	if gfxForm.MatchString(text) {
		return text, true
	}
	m := smForm.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1] + "." + m[2], true
}

// readMemory is the memory in MiB. Without a unit it is GiB; GB is taken for
// GiB too, because that is what people mean who write "96 GB".
func readMemory(text string) (int, bool) {
	m := memForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	if !strings.HasPrefix(m[2], "M") {
		n *= 1024
	}
	if n < 1 || n > maxMemory {
		return 0, false
	}
	return int(math.Round(n)), true
}

// slack is by how much a memory that a user writes may differ from what the
// driver counts: 96 GB are sold where nvidia-smi prints 97887 MiB, and 288 GB
// where it prints 275040 MiB.
const slack = 0.08

// with applies the values of a description to a profile.
func (p *Profile) with(text string, count int, asked explicit) (GPU, error) {
	g := p.GPU(count)
	if asked.sm != "" && asked.sm != p.SM {
		return GPU{}, fmt.Errorf("GPU %q contradicts itself: %s has compute capability %s, not %s", text, p.Name, p.SM, asked.sm)
	}
	if asked.mib == 0 {
		return g, nil
	}
	if math.Abs(float64(asked.mib-p.MemoryMiB)) > slack*float64(p.MemoryMiB) {
		return GPU{}, fmt.Errorf("GPU %q contradicts itself: %s has %d MiB, not %d MiB; describe another device under another name",
			text, p.Name, p.MemoryMiB, asked.mib)
	}
	g.MemoryMiB, g.MemoryGiB = asked.mib, gib(asked.mib)
	return g, nil
}
