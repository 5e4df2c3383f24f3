package checkpoint

import "syscall"

// hint is how much one call asks to read: of more than a device reads ahead, 128 KiB by
// default, the rest is not read (force_page_cache_ra of mm/readahead.c).
const hint = 128 << 10

// Hints that are refused cost speed only.

// willNeed begins to read part of a mapping.
func willNeed(data []byte) {
	for len(data) > 0 {
		n := min(len(data), hint)
		_ = syscall.Madvise(data[:n], syscall.MADV_WILLNEED)
		data = data[n:]
	}
}

// dontNeed takes part of a mapping out of memory, until it is used again.
func dontNeed(data []byte) {
	_ = syscall.Madvise(data, syscall.MADV_DONTNEED)
}
