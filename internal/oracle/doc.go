// Package oracle runs decoder-only language models exactly on a CPU. Its
// arithmetic is chosen and named (package numerics), so that a difference to
// another engine can be traced to the rounding that causes it.
//
// The way through the package: Open describes the model (package family) and
// binds its weights; a Session holds the cache of one text; Model.FeedAll runs
// tokens of one or several texts through all layers as one step (step.go), each
// layer through the blocks of this package (attention in gqa.go and mla.go,
// indexer.go, moe.go, mlp.go, norm and rotation in ops.go), and a Tap sees every
// result on the way.
//
// Everything that one token needs is computed for that token alone and in a
// fixed order, so that a prefill, a prefill in pieces, token-by-token decoding and
// a pass that other texts share give the same bits, and so does every machine.
// Sums run in float32 or float64 as the function says; products that could be
// fused with a sum are rounded explicitly, since Go may contract them on some
// machines.
//
// Vectors are []float32; n vectors of width w are one slice of n*w values, row
// by row.
package oracle
