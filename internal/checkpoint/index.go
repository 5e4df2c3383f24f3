package checkpoint

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// maxIndex is the size limit of an index in bytes. GLM-5 in NVFP4 has 230,000
// entries and about 25 MB.
const maxIndex = 256 << 20

// Index is a model.safetensors.index.json.
type Index struct {
	File      string
	WeightMap map[string]string // tensor to file
	TotalSize int64             // metadata.total_size in bytes; -1 when it is not given

	order      []string // files in the order of their first entry
	duplicates []string // names that stand twice
}

// openIndex reads an index and the files that it names. alone says that no other
// weight file is known: when none of those that it names is there either, the
// index is all there is.
func (c *Checkpoint) openIndex(name string, alone bool) {
	c.Format = Safetensors
	data, err := c.readSmall(name, maxIndex)
	if err == nil {
		c.Index, err = parseIndex(data)
	}
	if err != nil {
		c.problem(Problem{Kind: BadIndex, File: name, Want: "a JSON object with a weight_map", Got: err.Error(), Fatal: true})
		c.Index = nil
		return
	}
	c.Index.File = name
	for i, twice := range c.Index.duplicates {
		if i == maxAlike {
			break
		}
		c.problem(Problem{Kind: DuplicateName, File: name, Tensor: twice, Want: "every name once", Got: "the index names it twice"})
	}
	files := slices.Sorted(slices.Values(c.Index.order))
	if len(files) > maxFiles {
		c.problem(Problem{Kind: BadIndex, File: name, Want: fmt.Sprintf("at most %d files", maxFiles), Got: fmt.Sprintf("%d", len(files)), Fatal: true})
		return
	}
	var local []string
	for _, f := range files {
		if !filepath.IsLocal(f) || !strings.HasSuffix(f, ".safetensors") {
			c.problem(Problem{Kind: BadIndex, File: name, Want: "names of *.safetensors files in this folder", Got: fmt.Sprintf("%q", f), Fatal: true})
			continue
		}
		local = append(local, f)
	}
	c.addFiles(local)
	if alone && c.HeadersOnly() {
		c.fromIndex()
	}
}

// fromIndex takes the tensors' names from the index alone: no shard is there, so
// somebody asks about a checkpoint before downloading it. The files are absent
// on purpose and no problem each.
func (c *Checkpoint) fromIndex() {
	c.Problems = slices.DeleteFunc(c.Problems, func(p Problem) bool { return p.Kind == MissingFile })
	for tensor, file := range c.Index.WeightMap {
		t := &Tensor{Name: tensor, File: file, Size: -1}
		c.byName[tensor] = t
		c.tensors = append(c.tensors, t)
	}
}

// compareIndex compares the index with the headers, both ways.
func (c *Checkpoint) compareIndex() {
	headers := map[string]bool{} // files whose header could be read
	for _, f := range c.Files {
		headers[f.Name] = f.Header > 0
	}
	strangers := map[string]bool{} // files of which the index says nothing at all
	for _, p := range c.Problems {
		if p.Kind == UnlistedFile {
			strangers[p.File] = true
		}
	}
	var found once
	names := make([]string, 0, len(c.Index.WeightMap))
	for tensor := range c.Index.WeightMap {
		names = append(names, tensor)
	}
	slices.Sort(names)
	for _, tensor := range names {
		file := c.Index.WeightMap[tensor]
		switch t := c.byName[tensor]; {
		case !headers[file]: // said already
		case t == nil:
			found.add(Problem{Kind: IndexNoTensor, File: file, Tensor: tensor, Want: "this tensor, named by " + c.Index.File, Got: "not in the file", Fatal: true})
		case t.File != file:
			found.add(Problem{Kind: IndexWrongFile, File: file, Tensor: tensor, Want: "this tensor, named by " + c.Index.File, Got: "it is in " + t.File, Fatal: true})
		}
	}
	var sum int64
	for _, t := range c.tensors {
		sum += t.Size
		if _, ok := c.Index.WeightMap[t.Name]; !ok && !strangers[t.File] {
			found.add(Problem{Kind: IndexUnlisted, File: t.File, Tensor: t.Name, Want: "an entry in " + c.Index.File, Got: "the index does not name it"})
		}
	}
	complete := !slices.ContainsFunc(c.Problems, func(p Problem) bool { return p.Fatal })
	if total := c.Index.TotalSize; total >= 0 && total != sum && complete && len(found.all) == 0 {
		found.add(Problem{Kind: IndexSize, File: c.Index.File, Want: fmt.Sprintf("metadata.total_size %d, the sum of the tensors", sum), Got: fmt.Sprintf("it says %d", total)})
	}
	c.Problems = append(c.Problems, found.all...)
}

// parseIndex reads the text of an index.
func parseIndex(data []byte) (*Index, error) {
	s, err := newJSONScan(data)
	if err != nil {
		return nil, err
	}
	x := &Index{TotalSize: -1}
	err = s.object(func(key string) error {
		switch key {
		case "metadata":
			return x.metadata(s)
		case "weight_map":
			return x.weights(s)
		}
		return s.skip()
	})
	if err == nil {
		err = s.end()
	}
	if err == nil && x.WeightMap == nil {
		err = fmt.Errorf("no weight_map")
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// metadata reads total_size, which some writers store as a float.
func (x *Index) metadata(s *jsonScan) error {
	return s.object(func(key string) error {
		if key != "total_size" {
			return s.skip()
		}
		s.next()
		start := s.pos
		if n, err := s.natural(); err == nil && n < 1<<62 {
			x.TotalSize = int64(n)
			return nil
		}
		s.pos = start
		return s.skip()
	})
}

func (x *Index) weights(s *jsonScan) error {
	x.WeightMap = map[string]string{}
	files := map[string]string{} // one copy of each file's name
	return s.object(func(tensor string) error {
		raw, plain, err := s.rawString()
		if err != nil {
			return err
		}
		if !plain {
			return fmt.Errorf("tensor %q: the name of a file with an escape", tensor)
		}
		file, ok := files[string(raw)]
		if !ok {
			file = string(raw)
			files[file] = file
			x.order = append(x.order, file)
		}
		if _, twice := x.WeightMap[tensor]; twice {
			x.duplicates = append(x.duplicates, tensor)
		}
		x.WeightMap[tensor] = file
		return nil
	})
}
