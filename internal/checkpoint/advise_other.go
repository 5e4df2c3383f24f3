//go:build !linux

package checkpoint

// advise does nothing: the syscall package has no such call here, and pages of a
// file that is only read are dropped when memory is short.
func advise([]byte, bool) {}
