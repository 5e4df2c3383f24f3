// Package checkpoint reads model checkpoints as they lie on disk: a folder in
// the Hugging Face layout (config.json, safetensors files, their index), one
// safetensors file, or GGUF. It reports what is there and what contradicts the
// formats; it knows no model family and no engine.
//
// Terms: a module is what owns a weight, named as the tensor without its last
// part ("model.layers.0.mlp.down_proj"); a scheme says how a module's weight is
// stored (bfloat16, FP8 in blocks of 128x128 with scales ...) and is decided from
// the tensors that are there, never from a configuration; a problem is one thing
// that is wrong with the files, as a value. A fatal problem is one with which the
// tensors can't be trusted.
//
// Opening reads headers only. The bytes of a tensor are mapped from the file when
// they are first asked for, so that checkpoints larger than memory can be read;
// Tensor.Release gives pages back. All bytes read are taken as hostile: sizes are
// checked against the file before anything is allocated. A file that somebody
// shortens while it is mapped ends the process, as with every mapping.
//
// A Checkpoint may be used from several goroutines; Close ends all mappings.
package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"shakedown/internal/hfconfig"
)

// Format is the kind of the weight files.
type Format string

// The weight formats that can be read.
const (
	Safetensors Format = "safetensors"
	GGUF        Format = "gguf"
)

// ErrNoCheckpoint says that a path holds no checkpoint of a known kind.
var ErrNoCheckpoint = errors.New("no checkpoint")

// Checkpoint is everything that the files say. Its fields must not be changed.
type Checkpoint struct {
	Path   string // as it was opened
	Dir    string // folder of the files
	Format Format

	// Config holds the small JSON files; its Config is nil when there is no
	// usable config.json, as for GGUF.
	Config hfconfig.Model
	// Files are the weight files, those that the index names and are absent too.
	Files []File
	// Extra are weight files beside the checkpoint that no tensor is taken from.
	Extra []File
	// Index is nil when there is none.
	Index *Index
	// Meta is the metadata of a GGUF file, nil for safetensors.
	Meta *Metadata
	// Problems are all contradictions found while opening, fatal ones first.
	Problems []Problem

	tensors []*Tensor // sorted by name
	byName  map[string]*Tensor
	maps    []*mapping

	grouping   sync.Once
	modules    map[string]*Module
	ordered    []*Module
	quantising sync.Once
	quant      *Quantisation
}

// File is one weight file.
type File struct {
	Name    string // relative to Checkpoint.Dir
	Size    int64  // bytes on disk; -1: not there
	Header  int64  // bytes in front of the data
	Tensors int
}

// Present says whether the file is on disk.
func (f File) Present() bool { return f.Size >= 0 }

// Tensor is one named array.
type Tensor struct {
	Name  string
	DType DType
	// Shape lists the dimensions, the slowest-changing first, also for GGUF. It
	// is nil when only the index was read, and empty for a scalar.
	Shape []int
	File  string // relative to Checkpoint.Dir
	// Offset and Size are in bytes from the beginning of the file. Size is -1
	// when only the index was read.
	Offset, Size int64

	source *mapping
}

// Elements is the number of values.
func (t *Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= int64(d) // checked for overflow when the header was read
	}
	return n
}

// Known says whether shape and type are known, and not only the name.
func (t *Tensor) Known() bool { return t.Size >= 0 }

// Open reads the headers of a checkpoint: a folder, a safetensors file, the
// index of one, or a GGUF file (of a split GGUF, any part). The error is for
// paths that hold nothing to read; everything else that is wrong is in Problems.
func Open(path string) (*Checkpoint, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Path: path, Dir: path, byName: map[string]*Tensor{}}
	switch {
	case info.IsDir():
		err = c.openFolder()
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: neither a folder nor a file", path)
	default:
		err = c.openFile(filepath.Base(path))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if c.Index != nil && !c.HeadersOnly() {
		c.compareIndex()
	}
	slices.SortFunc(c.tensors, func(a, b *Tensor) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(c.Problems, func(a, b Problem) int {
		switch {
		case a.Fatal == b.Fatal:
			return 0
		case a.Fatal:
			return -1
		}
		return 1
	})
	return c, nil
}

// openFile opens the checkpoint that a single file names.
func (c *Checkpoint) openFile(name string) error {
	c.Dir = filepath.Dir(c.Path)
	switch {
	case strings.HasSuffix(name, ".gguf"):
		return c.openGGUF(name)
	case strings.HasSuffix(name, ".safetensors"):
		c.Format = Safetensors
		c.readConfigs()
		c.addFiles([]string{name})
		return nil
	case strings.HasSuffix(name, indexSuffix):
		c.readConfigs()
		c.openIndex(name, true)
		return nil
	case name == "config.json":
		return c.openFolder()
	}
	return fmt.Errorf("%s: %w: expected a folder, *.safetensors, *%s or *.gguf", c.Path, ErrNoCheckpoint, indexSuffix)
}

// Tensors lists all tensors by name.
func (c *Checkpoint) Tensors() []*Tensor { return c.tensors }

// Tensor finds a tensor by name; nil when there is none.
func (c *Checkpoint) Tensor(name string) *Tensor { return c.byName[name] }

// HeadersOnly says that no weight file is there: names come from the index, and
// there are no bytes, shapes or types.
func (c *Checkpoint) HeadersOnly() bool {
	return !slices.ContainsFunc(c.Files, File.Present)
}

// Err is the first fatal problems as one error, nil when the tensors can be read.
func (c *Checkpoint) Err() error {
	const shown = 5
	var errs []error
	n := 0
	for _, p := range c.Problems {
		if !p.Fatal {
			continue
		}
		if n++; n <= shown {
			errs = append(errs, p)
		}
	}
	if n > shown {
		errs = append(errs, fmt.Errorf("and %d further problems", n-shown))
	}
	if len(errs) > 0 {
		errs = append([]error{fmt.Errorf("%s can't be loaded", c.Path)}, errs...)
	}
	return errors.Join(errs...)
}

// Close ends all mappings. Slices that Bytes returned must not be used after it.
func (c *Checkpoint) Close() error {
	var errs []error
	for _, m := range c.maps {
		errs = append(errs, m.close())
	}
	c.maps = nil
	return errors.Join(errs...)
}

func (c *Checkpoint) problem(p Problem) { c.Problems = append(c.Problems, p) }

// addTensors takes the tensors of one file. A name that another file has already
// is a problem; the first one is kept.
func (c *Checkpoint) addTensors(ts []*Tensor) {
	for _, t := range ts {
		if old := c.byName[t.Name]; old != nil {
			c.problem(Problem{Kind: DuplicateTensor, File: t.File, Tensor: t.Name, Want: "one file with this tensor", Got: "also in " + old.File})
			continue
		}
		c.byName[t.Name] = t
		c.tensors = append(c.tensors, t)
	}
}

// readConfigs reads the small JSON files of the folder.
func (c *Checkpoint) readConfigs() {
	c.Config.Path = c.Path
	c.Config.Name = filepath.Base(filepath.Clean(c.Dir))
	for _, f := range []struct {
		name string
		into *hfconfig.Object
	}{{"config.json", &c.Config.Config}, {"generation_config.json", &c.Config.Generation}, {"hf_quant_config.json", &c.Config.HFQuant}} {
		data, err := c.readSmall(f.name, hfconfig.MaxFile)
		if errors.Is(err, fs.ErrNotExist) {
			if f.into == &c.Config.Config {
				c.problem(Problem{Kind: NoConfig, File: f.name, Want: "config.json beside the weights", Got: "no such file"})
			}
			continue
		}
		if err == nil {
			*f.into, err = hfconfig.Decode(data)
		}
		if err != nil {
			c.problem(Problem{Kind: BadConfig, File: f.name, Want: "a JSON object", Got: err.Error(), Fatal: f.into == &c.Config.Config})
		}
	}
}

// readSmall reads a whole file of the folder that may have at most limit bytes.
func (c *Checkpoint) readSmall(name string, limit int64) ([]byte, error) {
	path := filepath.Join(c.Dir, name)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%d bytes, at most %d are read", info.Size(), limit)
	}
	return os.ReadFile(path)
}
