//go:build linux || darwin

package checkpoint

import (
	"errors"
	"math"
	"os"
	"syscall"
)

// mapFile maps a whole file for reading.
func mapFile(f *os.File, size int64) ([]byte, error) {
	if size <= 0 || size > math.MaxInt {
		return nil, errors.New("nothing to map")
	}
	return syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
}

func unmapFile(data []byte) error { return syscall.Munmap(data) }
