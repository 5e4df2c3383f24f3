package kernel

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPoolReuse shows that each call happens once, with work inside work and from
// several goroutines at once, and that the pool's goroutines end.
func TestPoolReuse(t *testing.T) {
	before := runtime.NumGoroutine()
	p := NewPool(4)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 200 {
				var calls [8 * 5]atomic.Int32
				p.Each(8, func(i int) {
					p.Each(5, func(j int) { calls[5*i+j].Add(1) })
				})
				for i := range calls {
					if n := calls[i].Load(); n != 1 {
						t.Errorf("call %d happened %d times", i, n)
					}
				}
			}
		})
	}
	wg.Wait()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before the pool", runtime.NumGoroutine(), before)
		}
	}
}

// TestPoolPanics: whoever called Each can catch a panic of its work, on whichever
// goroutine it came.
func TestPoolPanics(t *testing.T) {
	for _, threads := range []int{2, 3, 8} {
		for bad := range 40 {
			var done atomic.Int64
			func() {
				defer func() {
					p, ok := recover().(*Panic)
					if !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "TestPoolPanics") {
						t.Errorf("%d threads, panic of %d: caught %v", threads, bad, p)
					}
				}()
				NewPool(threads).Each(40, func(i int) {
					if i == bad {
						panic("boom")
					}
					done.Add(1)
				})
			}()
			if n := done.Load(); n > 39 {
				t.Errorf("%d calls were done", n)
			}
		}
	}
}
