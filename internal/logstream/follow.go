package logstream

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// pollInterval is how often a followed file is looked at. Polling works on network
// file systems, where change notices do not.
const pollInterval = 250 * time.Millisecond

// follower reads a growing file. A file that became shorter is read again from
// its beginning; one that was replaced (rotated) is read to its end, then its
// successor from the beginning. Offsets and line numbers go on counting.
type follower struct {
	ctx  context.Context
	path string
	f    *os.File
	pos  int64
	last byte // read last, '\n' at first
}

// follow opens a file that may grow. The end of ctx is the end of the stream.
func follow(ctx context.Context, path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &follower{ctx: ctx, path: path, f: f, last: '\n'}, nil
}

// Read implements io.Reader; it waits for data.
func (f *follower) Read(p []byte) (int, error) {
	for {
		if f.ctx.Err() != nil {
			return 0, io.EOF
		}
		n, err := f.f.Read(p)
		if n > 0 {
			f.pos += int64(n)
			f.last = p[n-1]
			return n, nil
		}
		if err != nil && err != io.EOF {
			return 0, err
		}
		restarted, err := f.restart()
		if err != nil {
			return 0, err
		}
		if restarted {
			// A line that the old file left unfinished ends here.
			if f.last != '\n' && len(p) > 0 {
				p[0], f.last = '\n', '\n'
				return 1, nil
			}
			continue
		}
		f.wait()
	}
}

// restart goes to the beginning of a file that was truncated or replaced. A file
// that is gone may come back.
func (f *follower) restart() (bool, error) {
	now, err := os.Stat(f.path)
	if err != nil {
		return false, nil
	}
	open, err := f.f.Stat()
	if err != nil {
		return false, fmt.Errorf("follow: %w", err)
	}
	if os.SameFile(now, open) {
		if open.Size() >= f.pos {
			return false, nil
		}
		_, err := f.f.Seek(0, io.SeekStart)
		f.pos = 0
		return true, err
	}
	next, err := os.Open(f.path)
	if err != nil {
		return false, nil
	}
	f.f.Close()
	f.f, f.pos = next, 0
	return true, nil
}

func (f *follower) wait() {
	t := time.NewTimer(pollInterval)
	defer t.Stop()
	select {
	case <-t.C:
	case <-f.ctx.Done():
	}
}

// Close implements io.Closer.
func (f *follower) Close() error { return f.f.Close() }
