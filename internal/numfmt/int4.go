package numfmt

import "encoding/binary"

// Int4 is a matrix of four-bit integers in the order that the kernels read: codes
// row-major, two to a byte, even column in the low nibble; one scale and one zero
// point per row and group of columns. Weight = (code - zero) * scale. The three
// layouts found in checkpoints are brought to it without loss.
type Int4 struct {
	Rows, Cols int
	Group      int       // columns per scale
	Codes      []byte    // Rows x Cols/2
	Scales     []float32 // Rows x Groups
	Zeros      []uint8   // Rows x Groups; nil means 8 everywhere
	// Groups of columns that are not in order (GPTQ with desc_act): the group of
	// every column, or nil where column c has group c/Group.
	GroupOf []int32
}

// Groups is the number of scales per row.
func (m *Int4) Groups() int { return (m.Cols + m.Group - 1) / m.Group }

// Decode decodes len(dst) weights of a row from column col on, which is even.
func (m *Int4) Decode(dst []float32, row, col int) {
	groups := m.Groups()
	codes := m.Codes[(row*m.Cols+col)/2:]
	for i := range dst {
		c := col + i
		g := c / m.Group
		if m.GroupOf != nil {
			g = int(m.GroupOf[c])
		}
		code, zero := codes[i/2]>>(i&1*4)&15, uint8(8)
		if m.Zeros != nil {
			zero = m.Zeros[row*groups+g]
		}
		dst[i] = float32(int(code)-int(zero)) * m.Scales[row*groups+g]
	}
}

// UnpackInt32 reads nibble i of a sequence of little-endian int32 that hold eight
// nibbles each, lowest first.
func UnpackInt32(words []byte, i int) uint8 {
	return uint8(binary.LittleEndian.Uint32(words[i/8*4:]) >> (i % 8 * 4) & 15)
}

// ZerosPackQuantized unpacks the zero points of compressed-tensors
// pack-quantized, int32 [ceil(rows*bits/32), groups] packed along the rows, to rows
// x groups; bits is 4 or 8. Its weight_packed needs no unpacking: int32 [rows,
// cols*bits/32], lowest first and offset by 8 or 128, are the bytes of Int4.Codes
// and Int8.Codes.
func ZerosPackQuantized(packed []byte, rows, groups, bits int) []uint8 {
	zeros := make([]uint8, rows*groups)
	perWord := 32 / bits
	for r := range rows {
		for g := range groups {
			word := binary.LittleEndian.Uint32(packed[(r/perWord*groups+g)*4:])
			zeros[r*groups+g] = uint8(word >> (r % perWord * bits) & (1<<bits - 1))
		}
	}
	return zeros
}

// GPTQZero says what a stored zero point of GPTQ means.
type GPTQZero uint8

const (
	// GPTQStoredMinusOne is the format of AutoGPTQ ("gptq", v1): the file holds
	// the zero point less one. What is stored as the largest code means one more
	// than it, 16 or 256, as in AutoGPTQ's qlinear_cuda.py and in exllama's kernels.
	GPTQStoredMinusOne GPTQZero = iota
	// GPTQStored is "gptq_v2": the file holds the zero point.
	GPTQStored
)

// FromGPTQ transposes a GPTQ layer: qweight int32 [cols/8, rows] packed along the
// inputs, qzeros int32 [groups, ceil(rows/8)] packed along the outputs, scales
// [groups, rows] decoded to float32, gIdx the group of every input or nil. cols
// and rows are the layer's inputs and outputs, cols a multiple of 8.
func FromGPTQ(qweight, qzeros []byte, scales []float32, gIdx []int32, rows, cols, group int, zero GPTQZero) *Int4 {
	m := newInt4(rows, cols, group)
	transposeWords(m.Codes, qweight, cols/8, rows)
	groups := m.Groups()
	for g := range groups {
		words := qzeros[g*((rows+7)/8)*4:]
		for r := range rows {
			m.Scales[r*groups+g] = scales[g*rows+r]
			m.Zeros[r*groups+g] = UnpackInt32(words, r) + zero.add()
		}
	}
	m.GroupOf = outOfOrder(gIdx, group)
	return m
}

// add is what a stored zero point lacks.
func (z GPTQZero) add() uint8 {
	if z == GPTQStoredMinusOne {
		return 1
	}
	return 0
}

// outOfOrder is gIdx, or nil when it says what is so without it.
func outOfOrder(gIdx []int32, group int) []int32 {
	for c, g := range gIdx {
		if int(g) != c/group {
			return gIdx
		}
	}
	return nil
}

// wordTile is the side of the squares in which words are transposed, so that the
// lines of both sides stay in the cache.
const wordTile = 16

// transposeWords transposes a matrix of rows x cols words of four bytes.
func transposeWords(dst, src []byte, rows, cols int) {
	for r0 := 0; r0 < rows; r0 += wordTile {
		for c0 := 0; c0 < cols; c0 += wordTile {
			for c := c0; c < min(c0+wordTile, cols); c++ {
				for r := r0; r < min(r0+wordTile, rows); r++ {
					copy(dst[(c*rows+r)*4:][:4], src[(r*cols+c)*4:][:4])
				}
			}
		}
	}
}

// awqOrder is the column that each nibble of an AWQ word holds, lowest nibble
// first (the interleave of its CUDA kernels).
var awqOrder = [8]int{0, 2, 4, 6, 1, 3, 5, 7}

// FromAWQ transposes an AWQ layer (version gemm): qweight int32 [cols, rows/8] and
// qzeros int32 [groups, rows/8], both packed along the outputs in AWQ's order,
// scales [groups, rows] decoded to float32. cols and rows are the layer's inputs
// and outputs, rows a multiple of 8, cols even.
func FromAWQ(qweight, qzeros []byte, scales []float32, rows, cols, group int) *Int4 {
	m := newInt4(rows, cols, group)
	groups, words := m.Groups(), rows/8
	for w0 := 0; w0 < words; w0 += wordTile {
		for c := 0; c < cols; c += 2 {
			for w := w0; w < min(w0+wordTile, words); w++ {
				even := binary.LittleEndian.Uint32(qweight[(c*words+w)*4:])
				odd := binary.LittleEndian.Uint32(qweight[((c+1)*words+w)*4:])
				for i, sub := range awqOrder {
					m.Codes[((8*w+sub)*cols+c)/2] = uint8(even>>(4*i)&15 | odd>>(4*i)&15<<4)
				}
			}
		}
	}
	for g := range groups {
		for i, sub := range awqOrder {
			for r := sub; r < rows; r += 8 {
				m.Scales[r*groups+g] = scales[g*rows+r]
				m.Zeros[r*groups+g] = UnpackInt32(qzeros[g*rows/2:], r/8*8+i)
			}
		}
	}
	return m
}

func newInt4(rows, cols, group int) *Int4 {
	m := &Int4{Rows: rows, Cols: cols, Group: group, Codes: make([]byte, rows*cols/2)}
	m.Scales = make([]float32, rows*m.Groups())
	m.Zeros = make([]uint8, rows*m.Groups())
	return m
}
