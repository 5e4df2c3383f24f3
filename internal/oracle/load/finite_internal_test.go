package load

import (
	"encoding/binary"
	"math"
	"testing"

	"shakedown/internal/checkpoint"
)

// TestFinite compares the look at eight bytes at a time with decoding, at every place
// of a word: for all codes of 8 and 16 bits, and around the exponents of 32.
func TestFinite(t *testing.T) {
	codes := map[checkpoint.DType][]uint32{}
	for c := range uint32(1 << 16) {
		codes[checkpoint.BF16] = append(codes[checkpoint.BF16], c)
		codes[checkpoint.F16] = append(codes[checkpoint.F16], c)
		for low := range uint32(2) {
			codes[checkpoint.F32] = append(codes[checkpoint.F32], c<<16|low*0xffff)
		}
		if c < 1<<8 {
			codes[checkpoint.F8E4M3] = append(codes[checkpoint.F8E4M3], c)
			codes[checkpoint.F8E5M2] = append(codes[checkpoint.F8E5M2], c)
		}
	}
	for d, all := range codes {
		decode, size := decoder(d)
		for _, c := range all {
			place := int(c) % 11
			data := make([]byte, 11*size)
			for i := range 11 {
				data[(i+1)*size-1] = 0x80 // -0: a carry must not come from the sign
			}
			var code [4]byte
			binary.LittleEndian.PutUint32(code[:], c)
			copy(data[place*size:][:size], code[:])
			var value [1]float32
			decode(value[:], data[place*size:][:size])
			want := !math.IsNaN(float64(value[0])) && !math.IsInf(float64(value[0]), 0)
			if got := finite(d, data); got != want {
				t.Fatalf("%s code %#x at %d (%v): finite = %v", d, c, place, value[0], got)
			}
		}
	}
}
