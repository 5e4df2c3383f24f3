package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Pool splits work over goroutines. How it is split never changes a result. A nil
// Pool does everything in the calling goroutine. A Pool may be used by several
// goroutines at once, and from inside its own work.
type Pool struct{ threads int }

// NewPool returns a pool of the given number of threads; 0 means all that Go may
// use (GOMAXPROCS).
func NewPool(threads int) *Pool {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Pool{threads: threads}
}

// Threads is how many goroutines work at once, at least 1.
func (p *Pool) Threads() int {
	if p == nil {
		return 1
	}
	return p.threads
}

// Each calls f(i) once for every i in [0, n), on the calling goroutine and up to
// Threads()-1 others, and returns when all calls have. Each i goes to whoever is
// free, so f must not depend on the order. A panic in f on another goroutine ends
// the program, as everywhere in Go.
func (p *Pool) Each(n int, f func(i int)) {
	workers := min(p.Threads(), n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			f(i)
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
