package logstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Errors of sources and readers, to be tested with errors.Is. What wraps them
// names the source.
var (
	ErrEmpty    = errors.New("empty")
	ErrBinary   = errors.New("not a log")
	ErrCorrupt  = errors.New("damaged or cut short")
	ErrTooLarge = errors.New("too large")
	ErrNoLogs   = errors.New("no logs in it")
)

// Stdin is the argument, and the name of the source, that is standard input.
const Stdin = "-"

// maxUnpacked bounds what one stream may decompress to, maxSources how many files
// of a directory or members of an archive are taken: a few kilobytes can claim
// petabytes.
const (
	maxUnpacked = 64 << 30
	maxSources  = 10_000
)

// Source is one named stream of log bytes.
type Source struct {
	Name string // as given; "a.zip:dir/node0.log" for a member of an archive
	Size int64  // stored bytes, before decompression; -1 unknown
	// Open opens the stream, decompressed. Errors wrap ErrEmpty, ErrBinary or
	// ErrCorrupt, or come from the system. Reads fail with ErrCorrupt or
	// ErrTooLarge after what could be read, and with ctx's error once it is
	// cancelled. Sources may be opened in any order and read at once; standard
	// input can be opened once.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// Options configures Find.
type Options struct {
	// Follow makes plain files endless: reading waits for what is appended, until
	// the context is cancelled, which then is the end of the stream.
	Follow bool
}

// Find turns arguments into sources: files, "-" or no argument at all for
// standard input, directories (their files in order of name, recursively) and
// archives (one source for each member). Compression and archives are recognised
// by content, not by name. In directories and archives, hidden files, known
// binary formats and source code are passed over.
func Find(args []string, stdin io.Reader, opt Options) ([]Source, error) {
	if len(args) == 0 {
		args = []string{Stdin}
	}
	var all []Source
	for _, arg := range args {
		found, err := find(arg, stdin, opt)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func find(arg string, stdin io.Reader, opt Options) ([]Source, error) {
	if arg == Stdin {
		return []Source{stdinSource(stdin)}, nil
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w; give a log file, a directory, or - for standard input", arg, fs.ErrNotExist)
	case err != nil:
		return nil, err
	case info.IsDir():
		return findInDir(arg, opt)
	}
	return findInFile(arg, info, opt)
}

// findInFile returns the source that a file is, or those of the archive that it
// is.
func findInFile(path string, info fs.FileInfo, opt Options) ([]Source, error) {
	plain := []Source{fileSource(path, info, opt)}
	if !info.Mode().IsRegular() || opt.Follow {
		return plain, nil
	}
	head, err := peekFile(path)
	if err != nil {
		return nil, err
	}
	switch archiveKind(head) {
	case zipArchive:
		return findInZip(path)
	case tarArchive:
		return findInTar(path)
	}
	return plain, nil
}

// peekFile returns the first bytes of a file, decompressed. A damaged file gives
// what can be read: opening its source will tell.
func peekFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := decompress(f)
	if err != nil {
		return nil, nil
	}
	defer r.Close()
	head := make([]byte, sniffSize)
	n, _ := io.ReadFull(r, head)
	return head[:n], nil
}

func stdinSource(stdin io.Reader) Source {
	return Source{Name: Stdin, Size: -1, Open: func(ctx context.Context) (io.ReadCloser, error) {
		return openStream(ctx, "standard input", io.NopCloser(stdin))
	}}
}

func fileSource(path string, info fs.FileInfo, opt Options) Source {
	s := Source{Name: path, Size: info.Size()}
	if !info.Mode().IsRegular() {
		s.Size = -1
	}
	s.Open = func(ctx context.Context) (io.ReadCloser, error) {
		if opt.Follow && info.Mode().IsRegular() {
			return follow(ctx, path)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		return openStream(ctx, path, f)
	}
	return s
}

// openStream decompresses a stream and refuses what is no log. It closes stored
// on failure, and with the stream it returns.
func openStream(ctx context.Context, name string, stored io.ReadCloser) (io.ReadCloser, error) {
	plain, err := decompress(stored)
	if err != nil {
		stored.Close()
		return nil, damaged(name, err)
	}
	s := &sourceReader{ctx: ctx, name: name, plain: plain, stored: stored, left: maxUnpacked}
	if err := s.start(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// sourceReader is an open source: bounded, cancellable, its errors named.
type sourceReader struct {
	ctx    context.Context
	name   string
	head   []byte // read to recognise the format, not yet delivered
	plain  io.ReadCloser
	stored io.Closer
	left   int64 // bytes that may still be read
}

// start looks at the first bytes that come; a pipe may not have more for a while.
func (s *sourceReader) start() error {
	head := make([]byte, sniffSize)
	n, err := io.ReadAtLeast(s.plain, head, 1)
	head = head[:n]
	switch {
	case n == 0 && err != io.EOF:
		return s.named(err)
	case n == 0:
		return fmt.Errorf("%s: %w; has the server written to another file?", s.name, ErrEmpty)
	}
	if kind := binaryKind(head); kind != "" {
		return fmt.Errorf("%s: %w but %s; give the file that the server's output went to", s.name, ErrBinary, kind)
	}
	s.head = head
	return nil
}

// Read implements io.Reader.
func (s *sourceReader) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if len(s.head) > 0 {
		n := copy(p, s.head)
		s.head = s.head[n:]
		return n, nil
	}
	n, err := s.plain.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return n, fmt.Errorf("%s: %w: more than %d GiB when decompressed", s.name, ErrTooLarge, maxUnpacked>>30)
	}
	if err != nil && err != io.EOF {
		err = s.named(err)
	}
	return n, err
}

// named adds the name to a read error. An error of the system names the file
// itself; any other comes from a decoder, so that the data is to blame.
func (s *sourceReader) named(err error) error {
	var sys *fs.PathError
	if errors.As(err, &sys) || s.ctx.Err() != nil {
		return err
	}
	return damaged(s.name, err)
}

// damaged is the error of a decoder.
func damaged(name string, err error) error {
	if errors.Is(err, ErrTooLarge) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s: %w: %w", name, ErrCorrupt, err)
}

// Close implements io.Closer.
func (s *sourceReader) Close() error {
	return errors.Join(s.plain.Close(), s.stored.Close())
}

// readWith joins a reader with what closes it.
type readWith struct {
	io.Reader
	close func() error
}

func (r readWith) Close() error { return r.close() }

// hasPrefixAt reports whether b holds magic at a position.
func hasPrefixAt(b []byte, at int, magic string) bool {
	return len(b) >= at && bytes.HasPrefix(b[at:], []byte(magic))
}
