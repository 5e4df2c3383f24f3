package checkpoint

import (
	"fmt"
	"strings"
)

// Kind says what is wrong.
type Kind string

// Kinds of problems.
const (
	MissingFile     Kind = "missing-file"     // the index or a split names a file that is not there
	Unreadable      Kind = "unreadable"       // the operating system refuses
	Pointer         Kind = "pointer"          // a Git LFS pointer or an error page in place of the file
	BadHeader       Kind = "bad-header"       // the header is not what the format says
	HeaderTooLarge  Kind = "header-too-large" // the length in front of the header is not possible
	Truncated       Kind = "truncated"        // the file ends before its data
	TrailingBytes   Kind = "trailing-bytes"   // the file goes on behind its data
	Overlap         Kind = "overlap"          // two tensors share bytes
	Gap             Kind = "gap"              // bytes between tensors that belong to none
	OutOfBounds     Kind = "out-of-bounds"    // offsets that contradict each other or the file
	SizeMismatch    Kind = "size-mismatch"    // type times shape is not the size
	UnknownDType    Kind = "unknown-dtype"    // a type that the format does not have
	DuplicateName   Kind = "duplicate-name"   // the same name twice in one header or index
	DuplicateTensor Kind = "duplicate-tensor" // the same name in two files
	BadIndex        Kind = "bad-index"        // the index can't be read
	IndexNoTensor   Kind = "index-no-tensor"  // the index names a tensor that its file does not have
	IndexWrongFile  Kind = "index-wrong-file" // ... and another file has it
	IndexUnlisted   Kind = "index-unlisted"   // a file has a tensor that the index does not name
	IndexSize       Kind = "index-size"       // metadata.total_size is not the sum of the tensors
	UnlistedFile    Kind = "unlisted-file"    // a weight file of this checkpoint that the index does not name
	NoConfig        Kind = "no-config"        // no config.json
	BadConfig       Kind = "bad-config"       // one of the JSON files can't be read
	NoWeights       Kind = "no-weights"       // neither weight files nor an index
	OtherFormat     Kind = "other-format"     // weights only in a format that is not read here (pickle)
	NoIndex         Kind = "no-index"         // several shards without an index
)

// Problem is one thing that is wrong with the files.
type Problem struct {
	Kind   Kind
	File   string // relative to the checkpoint's folder
	Tensor string // empty: the whole file
	Want   string // what the format or the other files say
	Got    string // what is there
	More   int    // further tensors of the same file with the same problem
	Fatal  bool   // the tensors of this file can't be trusted
}

// Error names file, tensor and what was expected.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Tensor != "" {
		fmt.Fprintf(&b, ": %s", p.Tensor)
	}
	if p.Got != "" {
		fmt.Fprintf(&b, ": %s", p.Got)
	}
	if p.Want != "" {
		fmt.Fprintf(&b, ", expected %s", p.Want)
	}
	if p.More > 0 {
		fmt.Fprintf(&b, " (and %d more tensors)", p.More)
	}
	return strings.TrimPrefix(b.String(), ": ")
}

// once collects problems of one file and folds those of a kind beyond the first
// few into a count, so that a hostile file does not make millions of them.
type once struct {
	all  []Problem
	seen map[Kind]int // index of the last problem of a kind plus one
	n    map[Kind]int
}

// maxAlike is how many problems of one kind a file lists by name.
const maxAlike = 20

func (o *once) add(p Problem) {
	if o.seen == nil {
		o.seen, o.n = map[Kind]int{}, map[Kind]int{}
	}
	o.n[p.Kind]++
	if o.n[p.Kind] > maxAlike {
		o.all[o.seen[p.Kind]-1].More++
		return
	}
	o.all = append(o.all, p)
	o.seen[p.Kind] = len(o.all)
}
