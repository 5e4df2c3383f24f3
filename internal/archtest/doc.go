// Package archtest holds the house rules as tests: which package may import
// which and why, where ANSI, HTML, clocks and exit codes may occur, that every
// package has one package comment, that the list of dependencies is the
// reviewed one, how long a file may get, and what must not be written anywhere.
//
// A rule that fails names the place and the reason. Change a rule only together
// with its reason; the reasons are the layer diagram of ARCHITECTURE.md in the
// small.
package archtest
