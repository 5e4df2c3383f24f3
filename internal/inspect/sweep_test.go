package inspect

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"shakedown/internal/checkpoint"
)

// TestSweep holds the words that sweep takes four at a time against one word at
// a time: a tensor in which every value is NaN, or in which few words are not
// the pattern, must show as much as one with a single such value.
func TestSweep(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for dtype, sp := range specials {
		for round := range 2000 {
			var words [4]uint64
			pattern := r.Uint64()
			for i := range words {
				switch r.IntN(3) {
				case 0:
					words[i] = pattern
				case 1:
					words[i] = ^uint64(0) // NaN in every type, everywhere
				default:
					words[i] = pattern & r.Uint64()
				}
			}
			b := make([]byte, 32)
			var differ, bad bool
			for i, w := range words {
				binary.LittleEndian.PutUint64(b[8*i:], w)
				differ = differ || w != pattern
				bad = bad || (w&sp.mask+sp.add)&sp.high != 0
			}
			_, gotDiffer, gotBad := sweep(b, pattern, sp)
			if (gotDiffer != 0) != differ || (gotBad != 0) != bad {
				t.Fatalf("%v, round %d: %x beside the pattern %x: differ %v, bad %v; want %v, %v", dtype, round, words, pattern, gotDiffer != 0, gotBad != 0, differ, bad)
			}
		}
	}
	full := make([]byte, 256) // a norm of 128 BF16 values, all of them NaN
	for i := range full {
		full[i] = 0x7f
	}
	for i := 0; i < len(full); i += 2 {
		full[i] = 0xff
	}
	if _, _, bad := sweep(full, 0x7fff7fff7fff7fff, specials[checkpoint.BF16]); bad == 0 {
		t.Error("a tensor full of NaN is taken for a finite one")
	}
}
