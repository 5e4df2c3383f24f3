// Package probe is the battery that tells whether a running server computes
// rightly: what is asked, how the answers are judged, and what the verdicts
// together say about the cause.
//
// The package is pure. A probe is a value that names its next requests as Asks,
// given the answers so far, and judges Answers; sending them is the business of
// package endpoint, and running the battery within its bounds that of package
// prober. So a recorded run gives the same verdicts as the living one.
//
// Every comparison states its threshold and where it came from. Nothing here
// knows what a right model would answer, unless a reference was given: the
// server is held against itself.
package probe
