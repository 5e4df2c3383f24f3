package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/numerics"
)

// MemoryError is a run that would not fit.
type MemoryError struct {
	Need, Available int64 // bytes
	Parts           string
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("not enough memory: %s needed (%s), %s available: use fewer tokens, or a numerics that keeps weights as stored",
		gib(e.Need), e.Parts, gib(e.Available))
}

func gib(n int64) string { return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30)) }

// Fits says whether a text of so many tokens, the activations of held of them kept
// at once, fits into the memory that is available now. Weights in the mapped file are not counted:
// they may be read again. Where the available memory can't be told, everything
// fits.
func (s *Source) Fits(n numerics.Numerics, tokens, held int) error {
	available, ok := availableMemory()
	if !ok {
		return nil
	}
	cache := cacheBytes(s.Spec, n) * int64(tokens)
	work := workBytes(s.Spec, n) * int64(held)
	copies := s.copyBytes(n)
	if need := cache + work + copies; need > available {
		return &MemoryError{Need: need, Available: available, Parts: fmt.Sprintf("cache %s, activations %s, changed weights %s", gib(cache), gib(work), gib(copies))}
	}
	return nil
}

// cacheBytes is the cache of one token, in float32.
func cacheBytes(s *family.Spec, n numerics.Numerics) int64 {
	var values int64
	for _, l := range s.Layers {
		if a := l.GQA; a != nil {
			values += 2 * int64(a.KVHeads) * int64(a.HeadDim)
			continue
		}
		a := l.MLA
		values += int64(a.KVRank) + int64(a.Rope)
		if n.MLA == numerics.Expanded {
			values += int64(a.Heads) * int64(a.Nope+a.V)
		}
		if a.Indexer != nil {
			values += int64(a.Indexer.Dim)
		}
	}
	return 4 * values
}

// workBytes is an upper bound of what one token needs at once in one layer.
func workBytes(s *family.Spec, n numerics.Numerics) int64 {
	var most int64
	for _, l := range s.Layers {
		values := 6 * int64(s.Hidden)
		if a := l.GQA; a != nil {
			values += 3 * int64(a.Heads) * int64(a.HeadDim)
		} else {
			a := l.MLA
			values += int64(a.Heads) * int64(3*(a.Nope+a.Rope)+2*a.V+2*a.KVRank)
			if a.Indexer != nil {
				values += 2 * int64(a.Indexer.Heads) * int64(a.Indexer.Dim)
			}
		}
		if m := l.MoE; m != nil {
			values += int64(m.TopK)*int64(s.Hidden+3*m.Width) + 3*int64(m.Shared)
		} else {
			values += 3 * int64(l.Dense.Width)
		}
		most = max(most, values)
	}
	return 4 * most
}

// copyBytes is what a treatment of weights copies.
func (s *Source) copyBytes(n numerics.Numerics) int64 {
	var bytes int64
	for _, m := range s.Files.Modules() {
		if (n.Scales == numerics.ScalesE8M0 || n.MoEScales == numerics.ScalesE8M0) && m.Storage == checkpoint.FP8Block && m.Weight != nil {
			bytes += m.Weight.Size
		}
		if (m.Storage == checkpoint.GPTQ || m.Storage == checkpoint.AWQ) && m.Weight != nil { // other order
			bytes += m.Weight.Size
		}
		if n.Has(numerics.UninitialisedShard) && strings.HasSuffix(m.Name, ".down_proj") {
			bytes += 4 * int64(m.Out) * int64(m.In)
		}
	}
	return bytes
}

// availableMemory is what a Linux system can give without swapping, or what is
// left of the limit of the own control group.
func availableMemory() (int64, bool) {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	available, ok := meminfo(string(info))
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return available, ok
	}
	for _, g := range cgroups(string(own)) {
		if room, limited := g.room(); limited && (!ok || room < available) {
			available, ok = room, true
		}
	}
	return available, ok
}

func meminfo(text string) (int64, bool) {
	for _, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// cgroup is a control group with a memory controller: its folder, and the names
// of its limit and of the field of memory.stat that can't be reclaimed.
type cgroup struct{ dir, limit, used string }

// cgroups reads /proc/self/cgroup: the own group and, in a container that sees
// the group as its root, the root.
func cgroups(text string) []cgroup {
	var out []cgroup
	for _, line := range strings.Split(text, "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		g := cgroup{dir: "/sys/fs/cgroup", limit: "memory.max", used: "anon"}
		switch {
		case parts[1] == "memory": // version 1
			g = cgroup{dir: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", used: "total_rss"}
		case parts[0] != "0" || parts[1] != "":
			continue
		}
		root := g
		g.dir = filepath.Join(g.dir, filepath.Clean("/"+parts[2]))
		out = append(out, g)
		if g.dir != root.dir {
			out = append(out, root)
		}
	}
	return out
}

// room is the limit of the group less what can't be reclaimed of its use; false
// when there is no limit.
func (g cgroup) room() (int64, bool) {
	text, err := os.ReadFile(filepath.Join(g.dir, g.limit))
	if err != nil {
		return 0, false
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil { // "max": no limit
		return 0, false
	}
	stat, err := os.ReadFile(filepath.Join(g.dir, "memory.stat"))
	if err != nil {
		return limit, true
	}
	var used int64
	for _, line := range strings.Split(string(stat), "\n") {
		if rest, ok := strings.CutPrefix(line, g.used+" "); ok {
			used, _ = strconv.ParseInt(rest, 10, 64) // 0 where the kernel does not tell
		}
	}
	return max(limit-used, 0), true
}
