package match

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// hit is one report of Scan.
type hit struct{ ID, End int }

func byPlace(a, b hit) int { return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.ID, b.ID)) }

func build(literals ...string) *Automaton {
	var b Builder
	for _, l := range literals {
		b.Add(l)
	}
	return b.Build()
}

func scan(a *Automaton, data []byte) []hit {
	var hits []hit
	a.Scan(data, func(id, end int) { hits = append(hits, hit{id, end}) })
	slices.SortFunc(hits, byPlace)
	return hits
}

// naive is the twin that Scan must agree with.
func naive(literals []string, data []byte) []hit {
	var hits []hit
	for id, l := range literals {
		for at := 0; l != "" && at+len(l) <= len(data); at++ {
			if bytes.HasPrefix(data[at:], []byte(l)) {
				hits = append(hits, hit{id, at + len(l)})
			}
		}
	}
	slices.SortFunc(hits, byPlace)
	return hits
}

func TestScan(t *testing.T) {
	tests := []struct {
		literals []string
		data     string
	}{
		{[]string{"out of memory", "memory"}, "CUDA out of memory. memory"},
		{[]string{"aaaaaa", "aaaaaaa"}, "aaaaaaaaaa"},
		{[]string{"abcdef", "bcdefg", "cdefgh"}, "xabcdefghx"},
		{[]string{"abcdef"}, "abcde"},
		{[]string{"abcdef"}, "abcdef"},
		{[]string{"abcdef"}, ""},
		{[]string{"abc", "a", "", "abcd"}, "abcabcd a"},
		{[]string{"line\nbreak"}, "line\nbreak"},
		{[]string{"\xff\x00\x01\x02\x03\x04"}, "x\xff\x00\x01\x02\x03\x04"},
		{nil, "text"},
	}
	for _, tt := range tests {
		want := naive(tt.literals, []byte(tt.data))
		if diff := gocmp.Diff(want, scan(build(tt.literals...), []byte(tt.data))); diff != "" {
			t.Errorf("%q in %q (-want +got):\n%s", tt.literals, tt.data, diff)
		}
	}
}

func TestAddTwice(t *testing.T) {
	var b Builder
	first, second, again := b.Add("first literal"), b.Add("second literal"), b.Add("first literal")
	if first != 0 || second != 1 || again != first {
		t.Fatalf("ids %d %d %d", first, second, again)
	}
	if got := scan(b.Build(), []byte("first literal")); len(got) != 1 {
		t.Errorf("a literal that was added twice gives %v", got)
	}
}

// TestScanConcurrent also checks, under the race detector, that scans share
// nothing that changes.
func TestScanConcurrent(t *testing.T) {
	literals, data := synthetic(200, 1<<16)
	a := build(literals...)
	want := naive(literals, data)
	var wg sync.WaitGroup
	got := make([][]hit, 2)
	for i := range got {
		wg.Go(func() { got[i] = scan(a, data) })
	}
	wg.Wait()
	for i := range got {
		if !slices.Equal(got[i], want) {
			t.Errorf("scan %d found %d, want %d", i, len(got[i]), len(want))
		}
	}
	if len(want) == 0 {
		t.Error("the text holds none of the literals")
	}
}

func FuzzScan(f *testing.F) {
	f.Add("out of memory|memory|error: ", []byte("CUDA error: out of memory"))
	f.Add("aaaa|aaaaa|aa", []byte("aaaaaaaaaaaaaaa"))
	f.Add("abcdefghijklmnop|hijklmno", []byte("xxabcdefghijklmnop"))
	f.Fuzz(func(t *testing.T, list string, data []byte) {
		var b Builder
		for l := range strings.SplitSeq(list, "|") {
			b.Add(l)
		}
		if diff := gocmp.Diff(naive(b.literals, data), scan(b.Build(), data)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// synthetic makes text in the manner of a server log, and literals of which
// some occur in it.
func synthetic(literals, size int) ([]string, []byte) {
	common := strings.Fields("the model of kernel cache memory token batch for weight load failed with shape rank graph")
	r := rand.New(rand.NewPCG(1, 2))
	phrase := func() string {
		var b strings.Builder
		for range 3 {
			b.WriteString(common[r.IntN(len(common))] + " ")
			for range 3 {
				b.WriteByte("bcdfghklmnprstvz_F"[r.IntN(18)])
				b.WriteByte("aeiouy"[r.IntN(6)])
			}
			b.WriteByte(' ')
		}
		return b.String()
	}
	list := make([]string, literals)
	for i := range list {
		list[i] = phrase()
	}
	var text bytes.Buffer
	for text.Len() < size {
		fmt.Fprintf(&text, "[2026-01-02 03:04:%02d TP%d] %s, #token: %d, usage: 0.%02d\n", r.IntN(60), r.IntN(8), phrase(), r.IntN(1e6), r.IntN(100))
		if r.IntN(20) == 0 {
			fmt.Fprintf(&text, "INFO 01-02 03:04:05 [a.py:1] %s\n", list[r.IntN(len(list))])
		}
	}
	return list, text.Bytes()
}

// corpus reads the logs of the folder named by SHAKEDOWN_CORPUS, and cuts
// literals from their rare lines; without it, text and literals are synthetic.
func corpus(b *testing.B, literals int) ([]string, []byte) {
	dir := os.Getenv("SHAKEDOWN_CORPUS")
	if dir == "" {
		return synthetic(literals, 8<<20)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		b.Fatalf("no logs in %s: %v", dir, err)
	}
	var text []byte
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		text = append(text, data...)
	}
	const rare = 3
	r := rand.New(rand.NewPCG(3, 4))
	var list []string
	for len(list) < literals {
		at := r.IntN(len(text) - 60)
		piece := text[at : at+10+r.IntN(40)]
		if !bytes.ContainsAny(piece, "0123456789\r\n") && bytes.Count(text, piece) <= rare {
			list = append(list, string(piece))
		}
	}
	return list, text
}

func BenchmarkScan(b *testing.B) {
	for _, n := range []int{300, 1500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			literals, data := corpus(b, n)
			// The shortest anchor that rules may have decides the stride.
			a := build(append(literals, "\x01anchr")...)
			hits := 0
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				hits = 0
				a.Scan(data, func(int, int) { hits++ })
			}
			b.ReportMetric(float64(hits)/float64(len(data))*1e6, "hits/MB")
		})
	}
}
