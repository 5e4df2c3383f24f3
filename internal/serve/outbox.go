package serve

import (
	"context"
	"sync"
)

// outbox holds what happened to a job until its reader takes it, so that a slow
// reader delays nobody. It grows with what is in it: an answer that may become long
// takes no memory before it is.
type outbox struct {
	mu     sync.Mutex
	events []event
	ended  bool
	more   chan struct{} // has a value when there is news
}

func newOutbox() *outbox { return &outbox{more: make(chan struct{}, 1)} }

// put adds an event; none comes behind one that ends the job.
func (o *outbox) put(e event) {
	o.mu.Lock()
	o.events = append(o.events, e)
	o.ended = e.done != nil
	o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// next waits for the next event, for one reader; ok is false behind the last one.
func (o *outbox) next(ctx context.Context) (e event, ok bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return e, false, err
		}
		o.mu.Lock()
		if len(o.events) > 0 {
			e, o.events = o.events[0], o.events[1:]
			o.mu.Unlock()
			return e, true, nil
		}
		ended := o.ended
		o.mu.Unlock()
		if ended {
			return e, false, nil
		}
		select {
		case <-o.more:
		case <-ctx.Done():
		}
	}
}
