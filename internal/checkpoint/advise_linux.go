package checkpoint

import "syscall"

// Hints that are refused cost speed only.

// willNeed begins to read part of a mapping. Of what one call is for, no more is read
// than a device reads ahead, 128 KiB by default (force_page_cache_ra of
// mm/readahead.c).
func willNeed(data []byte) {
	for len(data) > 0 {
		n := min(len(data), 128<<10)
		_ = syscall.Madvise(data[:n], syscall.MADV_WILLNEED)
		data = data[n:]
	}
}

// dontNeed takes part of a mapping out of memory, until it is used again.
func dontNeed(data []byte) {
	_ = syscall.Madvise(data, syscall.MADV_DONTNEED)
}
