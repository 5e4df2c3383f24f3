package logstream

import (
	"fmt"
	"sync"
	"testing"
)

// TestIntern: names keep their text, also when they share a place or come from
// several goroutines.
func TestIntern(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 3 * len(interned) {
				want := fmt.Sprintf("scheduler.py:%d", i)
				if got := intern([]byte(want)); got != want {
					t.Errorf("intern(%q) = %q", want, got)
				}
			}
		})
	}
	wg.Wait()
	if got := intern(nil); got != "" {
		t.Errorf("intern of nothing = %q", got)
	}
}

func TestInternAllocatesOnce(t *testing.T) {
	name := []byte("EngineCore_DP0")
	intern(name)
	if n := testing.AllocsPerRun(100, func() { intern(name) }); n > 0 {
		t.Errorf("%v allocations for a known name", n)
	}
}
