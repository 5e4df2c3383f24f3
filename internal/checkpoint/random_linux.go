//go:build linux && (amd64 || arm64)

package checkpoint

import (
	"os"
	"syscall"
)

// fadvRandom is POSIX_FADV_RANDOM of linux/fadvise.h.
const fadvRandom = 1

// random switches readahead off. A hint that is refused costs speed only.
func random(f *os.File) {
	_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, fadvRandom, 0, 0)
}
