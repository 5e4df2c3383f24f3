package load

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/oracle"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
)

// logged notes what a pager is told.
type logged struct {
	*weights
	calls []string
}

func (l *logged) Ahead(layer int, experts bool) {
	l.calls = append(l.calls, fmt.Sprint("ahead ", layer, " ", experts))
}
func (l *logged) Ready(int) {}
func (l *logged) Expert(layer, expert int) {
	l.calls = append(l.calls, fmt.Sprint("expert ", layer, " ", expert))
}
func (l *logged) Head()          { l.calls = append(l.calls, "head") }
func (l *logged) Done(layer int) { l.calls = append(l.calls, fmt.Sprint("done ", layer)) }

// TestPagerOrder: a layer is announced while the one before it runs; for one
// token its experts are named one by one, for many all are asked for.
func TestPagerOrder(t *testing.T) {
	src, err := Open(oracletest.Write(t, oracletest.Configs["deepseek_v32"], oracletest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	num, err := numerics.Parse("exact")
	if err != nil {
		t.Fatal(err)
	}
	w := &logged{weights: &weights{c: src.Files, num: num}}
	m, err := oracle.New(src.Spec, w, num, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewSession(nil)
	if _, err := s.Feed(t.Context(), []int{1, 2, 3, 4, 5}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"ahead 0 true", "ahead 1 true", "done 0", "head", "done 1"}; !slices.Equal(w.calls, want) {
		t.Errorf("many tokens: %q, want %q", w.calls, want)
	}
	w.calls = nil
	if _, err := s.Feed(t.Context(), []int{6}); err != nil {
		t.Fatal(err)
	}
	if len(w.calls) != 7 || w.calls[1] != "ahead 1 false" || w.calls[3] != "head" || !strings.HasPrefix(w.calls[4], "expert 1 ") || !strings.HasPrefix(w.calls[5], "expert 1 ") || w.calls[6] != "done 1" {
		t.Errorf("one token: %q", w.calls)
	}
}

// TestPagedGivesTheSameBits: reading ahead and giving back change nothing.
func TestPagedGivesTheSameBits(t *testing.T) {
	src, err := Open(oracletest.Write(t, oracletest.Configs["deepseek_v32"], oracletest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	num, err := numerics.Parse("exact")
	if err != nil {
		t.Fatal(err)
	}
	var runs [4][]float32
	tight := newPaged(&weights{c: src.Files, num: num}, src.Files, 0)
	paged := newPaged(&weights{c: src.Files, num: num}, src.Files, 0)
	paged.tight = false
	partly := newPaged(&weights{c: src.Files, num: num}, src.Files, 2*src.bytes())
	if len(partly.stay) == 0 {
		t.Fatal("nothing stays")
	}
	for i, w := range []oracle.Weights{&weights{c: src.Files, num: num}, tight, paged, partly} {
		m, err := oracle.New(src.Spec, w, num, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := m.NewSession(nil)
		for _, piece := range [][]int{{1, 2, 3, 4, 5, 6, 7}, {8}} {
			h, err := s.Feed(t.Context(), piece)
			if err != nil {
				t.Fatal(err)
			}
			runs[i] = append(runs[i], s.Logits(h)...)
		}
	}
	for i := range runs[0] {
		for _, other := range runs[1:] {
			if math.Float32bits(runs[0][i]) != math.Float32bits(other[i]) {
				t.Fatalf("value %d: %v and %v", i, runs[0][i], other[i])
			}
		}
	}
	if len(paged.layers) != 2 || len(paged.experts) != 8 || len(paged.experts[[2]int{1, 7}]) != 3 {
		t.Errorf("%d layers, %d experts", len(paged.layers), len(paged.experts))
	}
}

// TestPagedKeeps: with room for a part, the output matrix and what every token needs
// stay, and of experts as many as fit beside two layers.
func TestPagedKeeps(t *testing.T) {
	src, err := Open(oracletest.Write(t, oracletest.Configs["deepseek_v32"], oracletest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	most := newPaged(nil, src.Files, math.MaxInt64)
	total, layers := src.bytes(), len(most.layers)
	if layers != 2 {
		t.Fatalf("%d layers", layers)
	}
	last := -1
	for _, room := range []int64{0, total, 2 * total, 3 * total, 4 * total} {
		p := newPaged(nil, src.Files, room)
		var bytes int64
		experts, other := 0, 0
		for x := range p.stay {
			bytes += x.Size
			if _, expert := placeOf(x.Name); expert >= 0 {
				experts++
			} else {
				other++
			}
		}
		if bytes > room {
			t.Errorf("%d bytes stay in %d", bytes, room)
		}
		if all := len(p.layers[0]) + len(p.layers[1]) + len(p.head); experts > 0 && other != all {
			t.Errorf("%d experts stay, and %d of %d tensors that all tokens need", experts, other, all)
		}
		if room != total && p.tight != (room == 0) {
			t.Errorf("tight = %v in %d bytes, all are %d", p.tight, room, total)
		}
		if len(p.stay) < last {
			t.Errorf("%d tensors stay in %d bytes, %d in fewer", len(p.stay), room, last)
		}
		last = len(p.stay)
	}
	if last == 0 || len(newPaged(nil, src.Files, 0).stay) != 0 {
		t.Error("the room decides nothing")
	}
}

func TestPlaceOf(t *testing.T) {
	for name, want := range map[string][2]int{
		"model.layers.12.mlp.experts.200.up_proj.weight": {12, 200},
		"model.layers.3.mlp.experts.gate_up_proj":        {3, -1},
		"model.layers.3.self_attn.o_proj.weight":         {3, -1},
		"model.layers.x.weight":                          {-1, -1},
		"lm_head.weight":                                 {-1, -1},
		"blk.7.ffn_up_exps.weight":                       {7, -1},
	} {
		if l, e := placeOf(name); [2]int{l, e} != want {
			t.Errorf("%s: %d, %d, want %v", name, l, e, want)
		}
	}
}

// TestControlGroups reads the own groups of both versions.
func TestControlGroups(t *testing.T) {
	got := cgroups("12:cpu:/a\n4:memory:/docker/x\n0::/user.slice/../app\nbroken\n")
	want := []cgroup{
		{"/sys/fs/cgroup/memory/docker/x", "memory.limit_in_bytes", "total_rss"}, {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "total_rss"},
		{"/sys/fs/cgroup/app", "memory.max", "anon"}, {"/sys/fs/cgroup", "memory.max", "anon"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g := cgroup{dir, "memory.max", "anon"}
	if _, limited := g.room(); limited {
		t.Error("a group without files has a limit")
	}
	write("memory.max", "max\n")
	if _, limited := g.room(); limited {
		t.Error("max is a limit")
	}
	write("memory.max", "1000\n")
	write("memory.stat", "file 500\nanon 300\n")
	if room, limited := g.room(); !limited || room != 700 {
		t.Errorf("room %d, %v", room, limited)
	}
	if kib, ok := meminfo("MemTotal: 5 kB\nMemAvailable:   12 kB\n"); !ok || kib != 12<<10 {
		t.Errorf("available %d, %v", kib, ok)
	}
	if _, ok := meminfo("MemTotal: 5 kB\n"); ok {
		t.Error("a system without MemAvailable tells it")
	}
}
