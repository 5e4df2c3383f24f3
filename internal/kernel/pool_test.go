package kernel

import (
	"runtime"
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
