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
	fadvDontNeed = 4 // POSIX_FADV_DONTNEED
)

// random switches readahead off. A hint that is refused costs speed only.
func random(f *os.File) {
	_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, fadvRandom, 0, 0)
}

// soon begins to read part of a file.
func soon(f *os.File, offset, size int64) {
	for end := offset + size; offset < end; offset += hint {
		_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), uintptr(offset), uintptr(min(hint, end-offset)), fadvWillNeed, 0, 0)
	}
}

// drop takes part of a file out of the system's cache, but for what is mapped.
func drop(f *os.File, offset, size int64) {
	_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), uintptr(offset), uintptr(size), fadvDontNeed, 0, 0)
}
