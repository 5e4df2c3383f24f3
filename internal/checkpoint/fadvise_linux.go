//go:build linux && (amd64 || arm64)

package checkpoint

import (
	"os"
	"syscall"
)

// Hints of linux/fadvise.h.
const (
	fadvRandom   = 1 // POSIX_FADV_RANDOM
	fadvWillNeed = 3 // POSIX_FADV_WILLNEED
)

// random switches readahead off. A hint that is refused costs speed only.
func random(f *os.File) {
	_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, fadvRandom, 0, 0)
}

// soon begins to read part of a file.
func soon(f *os.File, offset, size int64) {
	_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), uintptr(offset), uintptr(size), fadvWillNeed, 0, 0)
}
