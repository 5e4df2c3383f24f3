package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"shakedown/internal/finding"
	"shakedown/internal/launch"
	"shakedown/internal/logstream"
)

// Watcher is told what a growing log shows. Both functions are called from the
// goroutine that called Follow and may be nil.
type Watcher struct {
	Moved  func(launch.Live) // the current launch came further
	Judged func() error      // all messages of one more launch were handed out
}

// settle is how long a log that shows an end must be quiet before its launch is
// judged: the ranks of a failing server write their last lines within seconds
// of each other.
const settle = 3 * time.Second

// Follow explains one growing source until ctx is cancelled or the source
// ends. A launch is judged when the next one begins, or when it has ended and
// the log has been quiet for a while; several servers in one log are judged each
// by itself, for the others may still come up. Reading is live: lines count as
// soon as they are complete. The other contracts are those of Run.
func Follow(ctx context.Context, opt Options, h finding.Handler, w Watcher) (Result, error) {
	if len(opt.Sources) != 1 {
		return Result{}, fmt.Errorf("follow: want one source, got %d", len(opt.Sources))
	}
	r, index, told, err := opt.prepare(h)
	if err != nil {
		return Result{}, err
	}
	src := opt.Sources[0]
	rc, err := src.Open(ctx)
	if err != nil {
		return Result{}, err
	}
	defer rc.Close()
	f := &follower{run: r, watcher: w, index: index}
	f.writers = launch.NewWriters(index, src.Name, told, f.judged)
	err = f.read(ctx, logstream.NewReader(rc, logstream.ReaderOptions{Live: true}))
	f.writers.Close()
	r.finish()
	switch {
	case err != nil:
		return r.res, fmt.Errorf("%s: %w", src.Name, err)
	case r.err != nil:
		return r.res, r.err
	case r.res.Launches == 0:
		return r.res, ErrNoEngine
	}
	return r.res, nil
}

type follower struct {
	run     *run
	watcher Watcher
	index   *launch.Index
	writers *launch.Writers
	hits    launch.Hits
	shown   launch.Live
}

func (f *follower) judged(l *launch.Launch) {
	f.run.alone(l)
	if f.watcher.Judged != nil && f.run.err == nil {
		f.run.err = f.watcher.Judged()
	}
}

// read takes blocks as they come and notices quiet.
func (f *follower) read(ctx context.Context, rd *logstream.Reader) error {
	blocks := make(chan *logstream.Block)
	failed := make(chan error, 1)
	go func() {
		defer close(blocks)
		for {
			blk, err := nextBlock(rd)
			if err != nil {
				failed <- err
				return
			}
			select {
			case blocks <- blk:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
		}
	}()
	quiet := time.NewTimer(settle)
	defer quiet.Stop()
	for f.run.err == nil {
		select {
		case blk, open := <-blocks:
			if !open {
				return endOfStream(<-failed)
			}
			f.block(blk)
			quiet.Reset(settle)
		case <-quiet.C:
			f.writers.CutEnded()
		}
	}
	return nil
}

// endOfStream: the end of a followed log is no failure, and neither is the
// user's Ctrl-C.
func endOfStream(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (f *follower) block(blk *logstream.Block) {
	f.hits = f.index.Scan(blk.Data, f.hits)
	f.writers.Block(blk, f.hits)
	blk.Release()
	if v, ok := f.writers.Live(); ok && v != f.shown {
		f.shown = v
		if f.watcher.Moved != nil {
			f.watcher.Moved(v)
		}
	}
}
