package logstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// walk collects the sources of a directory.
type walk struct {
	root    string
	opt     Options
	visited map[string]bool // real paths: links may form loops
	found   []Source
	denied  error // the first entry that could not be read
}

// findInDir returns the logs in a directory, in order of name. Links are
// followed, each file and folder is taken once.
func findInDir(root string, opt Options) ([]Source, error) {
	w := walk{root: root, opt: opt, visited: make(map[string]bool)}
	if err := w.dir(root); err != nil {
		return nil, err
	}
	if len(w.found) == 0 {
		return nil, errors.Join(fmt.Errorf("%s: %w; name the file itself", root, ErrNoLogs), w.denied)
	}
	return w.found, nil
}

func (w *walk) dir(dir string) error {
	if w.seen(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return w.deny(dir, err)
	}
	for _, e := range entries {
		if !mayBeLog(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		// Stat, not Lstat: what a link points to counts.
		info, err := os.Stat(path)
		switch {
		case err != nil:
			err = w.deny(path, err)
		case info.IsDir():
			err = w.dir(path)
		case info.Mode().IsRegular():
			err = w.file(path, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// seen reports whether a path was visited before, and notes that it is now.
func (w *walk) seen(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	if w.visited[real] {
		return true
	}
	w.visited[real] = true
	return false
}

// deny notes what cannot be read; only the directory that the user named is an
// error.
func (w *walk) deny(path string, err error) error {
	if path == w.root {
		return err
	}
	if w.denied == nil {
		w.denied = err
	}
	return nil
}

// file adds the sources of one file, unless it is empty or plainly no log.
func (w *walk) file(path string, info fs.FileInfo) error {
	if w.seen(path) || info.Size() == 0 && !w.opt.Follow {
		return nil
	}
	head, err := peekFile(path)
	if err != nil {
		return w.deny(path, err)
	}
	if archiveKind(head) == noArchive && binaryKind(head) != "" {
		return nil
	}
	found, err := findInFile(path, info, w.opt)
	if errors.Is(err, ErrNoLogs) || errors.Is(err, ErrCorrupt) {
		return w.deny(path, err)
	}
	if err != nil {
		return err
	}
	if w.found = append(w.found, found...); len(w.found) > maxSources {
		return fmt.Errorf("%s: %w: more than %d files; name those of one launch", w.root, ErrTooLarge, maxSources)
	}
	return nil
}
