// Package numfmt holds the number formats of model weights, caches and
// activations, bit for bit: element formats (BF16, F16, the FP8 kinds, E8M0,
// E2M1), the block layouts that combine them with scales (FP8 blocks, NVFP4,
// MXFP4, int4 groups, GGUF blocks) and the records of KV caches.
//
// Decoding gives float32. A dequantised weight is the decoded code times its
// scale, each product rounded to float32 once, in the order that the function
// names; nothing is fused. Where producers or engines disagree, the choice is an
// argument with a name and no default.
//
// "Scale" is always what a code is multiplied by. Tensors that a checkpoint calls
// weight_scale_inv are scales in that sense; the global scales of
// compressed-tensors are not (they are reciprocals) and have functions of their
// own.
//
// Layout functions check no lengths beyond what slicing checks: callers take
// sizes from the constants here and validate files before. All functions are
// pure and may be called from several goroutines.
package numfmt
