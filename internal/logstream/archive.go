package logstream

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// memberName is the name of an archive's member as a source.
func memberName(archive, member string) string { return archive + ":" + member }

// tooMany is the error for an archive with more members than maxSources.
func tooMany(path string) error {
	return fmt.Errorf("%s: %w: more than %d members; unpack the logs of one launch", path, ErrTooLarge, maxSources)
}

// noMembers is the error for an archive without logs.
func noMembers(path string) error {
	return fmt.Errorf("%s: %w; unpack it and name the file", path, ErrNoLogs)
}

// findInZip returns the members of a zip archive that may be logs.
func findInZip(path string) ([]Source, error) {
	file := &sharedFile{path: path}
	if err := file.acquire(); err != nil {
		return nil, err
	}
	defer file.release()
	size, err := file.size()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(file, size)
	if err != nil {
		return nil, damaged(path, err)
	}
	z.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor())
	if len(z.File) > maxSources {
		return nil, tooMany(path)
	}
	var found []Source
	for _, f := range z.File {
		if f.Mode().IsRegular() && f.UncompressedSize64 > 0 && mayBeLog(f.Name) {
			found = append(found, zipSource(file, f))
		}
	}
	if len(found) == 0 {
		return nil, noMembers(path)
	}
	return found, nil
}

// zipEncrypted is the bit of a member's flags that says so.
const zipEncrypted = 1

func zipSource(file *sharedFile, f *zip.File) Source {
	name := memberName(file.path, f.Name)
	return Source{Name: name, Size: int64(f.CompressedSize64), Open: func(ctx context.Context) (io.ReadCloser, error) {
		if f.Flags&zipEncrypted != 0 {
			return nil, fmt.Errorf("%s: encrypted; unpack it first", name)
		}
		if err := file.acquire(); err != nil {
			return nil, err
		}
		r, err := f.Open()
		if err != nil {
			file.release()
			return nil, damaged(name, err)
		}
		return openStream(ctx, name, readWith{r, func() error { return errors.Join(r.Close(), file.release()) }})
	}}
}

// sharedFile is a file that is open while anybody uses it: the index of a zip
// archive is read once, and no descriptor is held between its members.
type sharedFile struct {
	path  string
	mu    sync.Mutex
	f     *os.File
	users int
}

func (s *sharedFile) acquire() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		f, err := os.Open(s.path)
		if err != nil {
			return err
		}
		s.f = f
	}
	s.users++
	return nil
}

func (s *sharedFile) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	return s.f.Close()
}

// ReadAt implements io.ReaderAt for those who acquired the file.
func (s *sharedFile) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	f := s.f
	s.mu.Unlock()
	return f.ReadAt(p, off)
}

func (s *sharedFile) size() (int64, error) {
	info, err := s.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// tarFile is a tar archive, compressed or not. A tar has no index: its members
// are found by reading. The reader of a member that was closed waits, where it
// stands, for a later member, so that reading all in order reads the file once.
type tarFile struct {
	path   string
	mu     sync.Mutex
	parked *tarReader
}

// tarReader is an open tar archive.
type tarReader struct {
	*tar.Reader
	next  int // number of the member that Next will find
	close func() error
}

// findInTar returns the members of a tar archive that may be logs. Of a damaged
// archive, those before the damage.
func findInTar(path string) ([]Source, error) {
	t := &tarFile{path: path}
	r, err := t.open()
	if err != nil {
		return nil, err
	}
	defer r.close()
	var found []Source
	for {
		h, err := r.Next()
		switch {
		case err == io.EOF && len(found) == 0:
			return nil, noMembers(path)
		case err != nil && len(found) == 0:
			return nil, damaged(path, err)
		case err != nil:
			return found, nil
		case r.next == maxSources:
			return nil, tooMany(path)
		}
		if h.Typeflag == tar.TypeReg && h.Size > 0 && mayBeLog(h.Name) {
			found = append(found, t.source(h, r.next))
		}
		r.next++
	}
}

// open opens the archive at its first member.
func (t *tarFile) open() (*tarReader, error) {
	f, err := os.Open(t.path)
	if err != nil {
		return nil, err
	}
	plain, err := decompress(f)
	if err != nil {
		f.Close()
		return nil, damaged(t.path, err)
	}
	return &tarReader{
		Reader: tar.NewReader(io.LimitReader(plain, maxUnpacked)),
		close:  func() error { return errors.Join(plain.Close(), f.Close()) },
	}, nil
}

func (t *tarFile) source(h *tar.Header, n int) Source {
	name := memberName(t.path, h.Name)
	return Source{Name: name, Size: h.Size, Open: func(ctx context.Context) (io.ReadCloser, error) {
		r, err := t.seek(name, n)
		if err != nil {
			return nil, err
		}
		return openStream(ctx, name, readWith{r, func() error { return t.park(r) }})
	}}
}

// seek returns a reader that stands at the data of member n.
func (t *tarFile) seek(name string, n int) (*tarReader, error) {
	r, err := t.unpark(n)
	if err != nil {
		return nil, err
	}
	for r.next <= n {
		if _, err := r.Next(); err != nil {
			r.close()
			return nil, damaged(name, err)
		}
		r.next++
	}
	return r, nil
}

// unpark takes the waiting reader when it has not passed member n, else a new one.
func (t *tarFile) unpark(n int) (*tarReader, error) {
	t.mu.Lock()
	r := t.parked
	if r != nil && r.next <= n {
		t.parked = nil
		t.mu.Unlock()
		return r, nil
	}
	t.mu.Unlock()
	return t.open()
}

// park keeps a reader for the next member, in place of one that is there.
func (t *tarFile) park(r *tarReader) error {
	t.mu.Lock()
	old := t.parked
	t.parked = r
	t.mu.Unlock()
	if old == nil {
		return nil
	}
	return old.close()
}
