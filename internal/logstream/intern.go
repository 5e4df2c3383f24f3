package logstream

import (
	"hash/maphash"
	"sync/atomic"
)

// Nearly every line names its process and its place in the engine's source, and
// a log has a few dozen of either. intern returns the string of a name without
// allocating it again for each line; a name that is new takes the place of
// another one.

var (
	interned [1 << 10]atomic.Pointer[string]
	seed     = maphash.MakeSeed()
)

func intern(name []byte) string {
	if len(name) == 0 {
		return ""
	}
	place := &interned[maphash.Bytes(seed, name)%uint64(len(interned))]
	if known := place.Load(); known != nil && *known == string(name) {
		return *known
	}
	s := string(name)
	place.Store(&s)
	return s
}
