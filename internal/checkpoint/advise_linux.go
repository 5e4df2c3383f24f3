package checkpoint

import "syscall"

// advise passes a hint on; a hint that is refused changes nothing but speed.
func advise(data []byte, soon bool) {
	what := syscall.MADV_DONTNEED
	if soon {
		what = syscall.MADV_WILLNEED
	}
	_ = syscall.Madvise(data, what)
}
