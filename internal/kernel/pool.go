package kernel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// linger is how long a goroutine of a pool, and one that waits for it, look for
	// news before they sleep. A token is hundreds of products of some 100
	// microseconds each; to wake a sleeping thread takes up to half of that.
	linger = 100 * time.Microsecond
	// stubborn is how long of that they let no other goroutine go first. To step
	// aside for one that is soon done brings two workers to one thread.
	stubborn = 20 * time.Microsecond
)

// Pool splits work over goroutines. How it is split never changes a result. A nil
// Pool does everything in the calling goroutine. A Pool may be used by several
// goroutines at once, and from inside its own work. Its goroutines end soon after
// the last work.
type Pool struct {
	threads int
	news    atomic.Uint32 // rises with every job

	mu      sync.Mutex
	open    []*job // those that helpers may join
	helpers int    // goroutines of the pool
}

// job is one call of Each.
type job struct {
	f       func(i int)
	spans   []span // one for each worker
	joined  int    // helpers that have joined; the pool's mu guards it
	helpers atomic.Int64
	done    sync.WaitGroup // helpers that have not finished
	failed  atomic.Pointer[Panic]
}

// span is what a worker does first, one call after the other, so that it reads
// memory in order. Who has finished helps the others.
type span struct {
	next atomic.Int64
	end  int64
	_    [48]byte // a cache line for each
}

// Panic is what Each panics with when f did.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that f ran on
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n%s", p.Value, p.Stack) }

// work does what is left, beginning with the span of a worker.
func (j *job) work(worker int) {
	defer func() {
		if v := recover(); v != nil {
			for i := range j.spans { // nobody needs the rest
				j.spans[i].next.Store(j.spans[i].end)
			}
			j.failed.CompareAndSwap(nil, &Panic{v, debug.Stack()})
		}
	}()
	for k := range j.spans {
		s := &j.spans[(worker+k)%len(j.spans)]
		for s.next.Load() < s.end {
			i := s.next.Add(1) - 1
			if i >= s.end {
				break
			}
			j.f(int(i))
		}
	}
}

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
// free, so f must not depend on the order. A panic in f is a panic of Each, on
// whichever goroutine it came, and some i may not have been done; where several work,
// its value is a *Panic.
func (p *Pool) Each(n int, f func(i int)) {
	workers := min(p.Threads(), n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	j := &job{f: f, spans: make([]span, workers)}
	for i := range j.spans {
		j.spans[i].next.Store(int64(i * n / workers))
		j.spans[i].end = int64((i + 1) * n / workers)
	}
	p.mu.Lock()
	p.open = append(p.open, j)
	missing := max(0, min(workers-1, p.threads-1-p.helpers))
	p.helpers += missing
	p.mu.Unlock()
	p.news.Add(1)
	for range missing {
		go p.help()
	}
	j.work(0)
	// A helper that comes now finds nothing, and nobody waits for it.
	p.mu.Lock()
	if i := slices.Index(p.open, j); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
	p.mu.Unlock()
	await(func() bool { return j.helpers.Load() == 0 })
	j.done.Wait()
	if p := j.failed.Load(); p != nil {
		panic(p)
	}
}

// help works at all jobs until none comes any more.
func (p *Pool) help() {
	for {
		seen := p.news.Load()
		if j, worker := p.join(); j != nil {
			j.work(worker)
			j.helpers.Add(-1)
			j.done.Done()
			continue
		}
		await(func() bool { return p.news.Load() != seen })
		if p.news.Load() == seen && p.leave() {
			return
		}
	}
}

// join finds a job, and says which of its workers the helper is.
func (p *Pool) join() (j *job, worker int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range slices.Backward(p.open) {
		if j.joined+1 < len(j.spans) {
			j.joined++
			j.helpers.Add(1)
			j.done.Add(1)
			return j, j.joined
		}
	}
	return nil, 0
}

// leave says whether a helper may end: no job wants it.
func (p *Pool) leave() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) > 0 {
		return false
	}
	p.helpers--
	return true
}

// await returns when ready does or the time to linger is over.
func await(ready func() bool) {
	for start := time.Now(); ; {
		for range 256 {
			if ready() {
				return
			}
		}
		switch waited := time.Since(start); {
		case waited > linger:
			return
		case waited > stubborn:
			runtime.Gosched()
		}
	}
}
