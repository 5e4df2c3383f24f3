package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Names that engines and transformers look for.
const (
	singleFile  = "model.safetensors"
	indexSuffix = ".safetensors.index.json"
	indexFile   = "model" + indexSuffix
)

// maxFiles bounds the weight files of a folder; the largest published
// checkpoints have about 200.
const maxFiles = 10_000

// openFolder finds the weight files of a folder and reads their headers.
func (c *Checkpoint) openFolder() error {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return err
	}
	var tensors, ggufs, pickles, indexes []string
	config := false
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir(), strings.HasPrefix(name, "."):
		case strings.HasSuffix(name, indexSuffix):
			indexes = append(indexes, name)
		case strings.HasSuffix(name, ".safetensors"):
			tensors = append(tensors, name)
		case strings.HasSuffix(name, ".gguf"):
			ggufs = append(ggufs, name)
		case strings.HasSuffix(name, ".bin") && strings.Contains(name, "pytorch_model"), strings.HasSuffix(name, ".pth"), strings.HasSuffix(name, ".pt"):
			pickles = append(pickles, name)
		case name == "config.json":
			config = true
		}
	}
	if len(tensors) > maxFiles {
		return fmt.Errorf("%s: %d safetensors files, at most %d are read", c.Path, len(tensors), maxFiles)
	}
	if len(tensors) == 0 && len(indexes) == 0 && len(ggufs) > 0 {
		return c.openOneGGUF(ggufs)
	}
	if !config && len(tensors) == 0 && len(indexes) == 0 && len(pickles) == 0 {
		return fmt.Errorf("%s: %w: no config.json, no *.safetensors and no *.gguf in this folder", c.Path, ErrNoCheckpoint)
	}
	c.Format = Safetensors
	c.readConfigs()
	switch {
	case len(indexes) > 0:
		c.openIndex(preferred(indexes, indexFile), len(tensors) == 0)
		c.beside(tensors)
	case len(tensors) > 0:
		c.openUnindexed(tensors)
	case len(pickles) > 0:
		c.problem(Problem{Kind: OtherFormat, File: pickles[0], Want: "safetensors or GGUF", Got: "only pickled PyTorch weights", More: len(pickles) - 1, Fatal: true})
	default:
		c.problem(Problem{Kind: NoWeights, File: singleFile, Want: singleFile + ", or " + indexFile + " with its shards", Got: "no weights and no index", Fatal: true})
	}
	return nil
}

// preferred is the wanted name if it is there, else the first.
func preferred(names []string, want string) string {
	if slices.Contains(names, want) {
		return want
	}
	return names[0]
}

// shard matches the names of a split checkpoint.
var shard = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.(safetensors|gguf)$`)

// openUnindexed reads a folder without an index: model.safetensors, or whatever
// there is. Numbered shards that are not all there are a problem, since nothing
// else would tell.
func (c *Checkpoint) openUnindexed(names []string) {
	main := names
	if slices.Contains(names, singleFile) {
		main = []string{singleFile}
	}
	sets := map[string][]string{}
	for _, name := range main {
		if m := shard.FindStringSubmatch(name); m != nil {
			sets[m[1]+" of "+m[3]] = m
		}
	}
	var keys []string
	for k := range sets {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		m := sets[k]
		main = append(main, missingShards(m, names)...)
		c.problem(Problem{Kind: NoIndex, File: indexFile, Want: indexFile + " beside numbered shards", Got: "no index"})
	}
	c.addFiles(main)
	c.beside(names)
}

// missingShards lists the numbers of a set of shards that are not in the folder.
func missingShards(m, names []string) []string {
	var total int
	if _, err := fmt.Sscanf(m[3], "%d", &total); err != nil || total > maxFiles {
		return nil
	}
	var missing []string
	for i := 1; i <= total; i++ {
		name := fmt.Sprintf("%s-%05d-of-%s.%s", m[1], i, m[3], m[4])
		if !slices.Contains(names, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// beside sorts the weight files that nothing named: a file whose tensors are
// named like the model's belongs to it (mtp.safetensors); any other is left out
// (a second copy in another layout, an adapter, test data).
func (c *Checkpoint) beside(names []string) {
	roots := map[string]bool{}
	for _, t := range c.tensors {
		root, _, _ := strings.Cut(t.Name, ".")
		roots[root] = true
	}
	var unknown []string
	for _, name := range names {
		if !slices.ContainsFunc(c.Files, func(f File) bool { return f.Name == name }) {
			unknown = append(unknown, name)
		}
	}
	for _, got := range c.readHeaders(unknown) {
		var fresh []*Tensor
		for _, t := range got.tensors {
			root, _, _ := strings.Cut(t.Name, ".")
			if roots[root] && c.byName[t.Name] == nil {
				fresh = append(fresh, t)
			}
		}
		if len(fresh) == 0 {
			c.Extra = append(c.Extra, got.file)
			continue
		}
		c.Files = append(c.Files, got.file)
		c.Problems = append(c.Problems, got.problems.all...)
		if c.Index != nil {
			c.problem(Problem{Kind: UnlistedFile, File: got.file.Name, Tensor: fresh[0].Name, Want: "an index that names the file", Got: "not in the index", More: len(fresh) - 1})
		}
		c.addTensors(fresh)
	}
}

// read is the header of one file and the file itself.
type read struct {
	header
	file File
	src  *mapping // nil when the file could not be opened
}

// addFiles reads the headers of weight files and takes their tensors.
func (c *Checkpoint) addFiles(names []string) {
	for _, got := range c.readHeaders(names) {
		c.Files = append(c.Files, got.file)
		c.Problems = append(c.Problems, got.problems.all...)
		c.addTensors(got.tensors)
	}
}

// readHeaders reads several headers at once, in the order of their names.
func (c *Checkpoint) readHeaders(names []string) []read {
	out := make([]read, len(names))
	work := make(chan int)
	var wg sync.WaitGroup
	for range min(len(names), max(2, runtime.GOMAXPROCS(0))) {
		wg.Go(func() {
			for i := range work {
				out[i] = c.readHeader(names[i])
			}
		})
	}
	for i := range names {
		work <- i
	}
	close(work)
	wg.Wait()
	for _, got := range out {
		if got.src != nil {
			c.maps = append(c.maps, got.src)
		}
	}
	return out
}

func (c *Checkpoint) readHeader(name string) read {
	out := read{file: File{Name: name, Size: -1}}
	src, size, err := openWeights(filepath.Join(c.Dir, name))
	if err != nil {
		kind := Unreadable
		if errors.Is(err, fs.ErrNotExist) {
			kind = MissingFile
		}
		out.problems.add(Problem{Kind: kind, File: name, Want: "this weight file", Got: c.why(name, err), Fatal: true})
		return out
	}
	out.header = readSafetensors(src.file, size, name)
	out.src = src
	out.file.Size, out.file.Header, out.file.Tensors = size, out.length, len(out.tensors)
	for _, t := range out.tensors {
		t.source = src
	}
	return out
}

// why says why a file can't be opened, in the words of the folder: a link whose
// target is gone, or a download that was not finished.
func (c *Checkpoint) why(name string, err error) string {
	path := filepath.Join(c.Dir, name)
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 && errors.Is(err, fs.ErrNotExist) {
		return "a link whose target is not there"
	}
	for _, suffix := range []string{".incomplete", ".part", ".aria2", ".crdownload", ".tmp"} {
		if _, serr := os.Stat(path + suffix); serr == nil {
			return "only an unfinished download, " + name + suffix
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "no such file"
	}
	return err.Error()
}
