//go:build !linux

package checkpoint

// willNeed does nothing: the syscall package has no such call here.
func willNeed([]byte) {}

// dontNeed does nothing, for the same reason; pages of a file that is only read are
// dropped when memory is short.
func dontNeed([]byte) {}
