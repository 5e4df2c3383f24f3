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

// linger is how long a goroutine of a pool, and one that waits for it, look for news
// before they sleep. A token is hundreds of products of some 100 microseconds each;
// to wake a sleeping thread takes up to half of that.
const linger = 100 * time.Microsecond

// Pool splits work over goroutines. How it is split never changes a result. A nil
// Pool does everything in the calling goroutine. A Pool may be used by several
// goroutines at once, and from inside its own work. Its goroutines end soon after
// the last work.
type Pool struct {
	threads int

	mu   sync.Mutex
	idle []*helper // those that linger
}

// helper is a goroutine of a pool.
type helper struct{ next atomic.Pointer[job] }

// job is one call of Each.
type job struct {
	n       int
	f       func(i int)
	next    atomic.Int64
	helpers atomic.Int64 // that have not finished
	done    sync.WaitGroup
	failed  atomic.Pointer[Panic]
}

// Panic is what Each panics with when f did.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that f ran on
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n%s", p.Value, p.Stack) }

func (j *job) work() {
	defer func() {
		if v := recover(); v != nil {
			j.next.Store(int64(j.n)) // nobody needs the rest
			j.failed.CompareAndSwap(nil, &Panic{v, debug.Stack()})
		}
	}()
	for {
		i := int(j.next.Add(1)) - 1
		if i >= j.n {
			return
		}
		j.f(i)
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
	j := &job{n: n, f: f}
	j.helpers.Store(int64(workers - 1))
	j.done.Add(workers - 1)
	p.mu.Lock()
	kept := max(0, len(p.idle)-(workers-1))
	for _, h := range p.idle[kept:] {
		h.next.Store(j)
		workers--
	}
	p.idle = slices.Delete(p.idle, kept, len(p.idle))
	p.mu.Unlock()
	for range workers - 1 {
		go p.help(j)
	}
	j.work()
	await(func() bool { return j.helpers.Load() == 0 })
	j.done.Wait()
	if p := j.failed.Load(); p != nil {
		panic(p)
	}
}

// help works at a job, and at those that follow soon.
func (p *Pool) help(j *job) {
	h := new(helper)
	for j != nil {
		j.work()
		h.next.Store(nil)
		p.mu.Lock()
		p.idle = append(p.idle, h)
		p.mu.Unlock()
		j.helpers.Add(-1)
		j.done.Done()
		await(func() bool { return h.next.Load() != nil })
		p.mu.Lock()
		if i := slices.Index(p.idle, h); i >= 0 {
			p.idle = slices.Delete(p.idle, i, i+1)
		}
		p.mu.Unlock()
		j = h.next.Load()
	}
}

// await returns when ready does or the time to linger is over. Other goroutines of
// the thread go first.
func await(ready func() bool) {
	for start := time.Now(); ; {
		for range 64 {
			if ready() {
				return
			}
		}
		if time.Since(start) > linger {
			return
		}
		runtime.Gosched()
	}
}
