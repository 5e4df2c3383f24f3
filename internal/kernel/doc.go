// Package kernel multiplies activations with weights in their stored format and
// holds the elementary functions of a forward pass, with the same bits on every
// machine, for any number of threads and any batch size.
//
// # The order of a sum
//
// A dot product of length K has 16 lanes that start at +0. Lane l takes the
// elements k with k mod 16 = l in rising order: the product of weight and
// activation is rounded to float32, then added, rounded again; nothing is fused.
// Then lane l+8 is added to lane l for l < 8, l+4 for l < 4, l+2 for l < 2, and
// lane 1 to lane 0. A length that is no multiple of 16 is the same as one padded
// with zeros, because a lane never is -0.
//
// A weight is the float32 that numfmt decodes: MulVec(dst, x)[i] has the bits of
// Dot(row i, x), and a row of MulMat those of MulVec. The scalar code in this
// package is normative; the assembly for AVX2, AVX-512 and NEON, chosen when the
// program starts, must return its bits (NaN counts as equal to NaN, whatever its
// payload), which a contract test checks.
//
// MulMatGGML is the named exception: it quantises the activations to eight bits as
// llama.cpp does and multiplies integers (see ggml.go for its order).
package kernel
