package knowledge

import (
	"bytes"
	_ "embed" // for compact.jsonl
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sync"
)

//go:generate go run ./gen

// compactFile holds the built-in rules in a form that is read in a fifth of the
// time that their YAML takes, which is most of a start. The YAML is the source
// of truth: each rule stands beside the checksum of the YAML that it was made
// from, and a rule whose YAML has another one is read from the YAML. So an old
// file costs time and nothing else.
//
//go:embed compact.jsonl
var compactFile []byte

// checksum identifies the YAML of a rule.
func checksum(data []byte) uint32 {
	return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
}

// sumLen is the length of a checksum in compactFile: eight digits and a blank.
const sumLen = 8 + 1

// compactLines finds the lines of compactFile by their checksum.
var compactLines = sync.OnceValue(func() map[string][]byte {
	lines := make(map[string][]byte, bytes.Count(compactFile, []byte{'\n'}))
	for line := range bytes.Lines(compactFile) {
		if len(line) > sumLen {
			lines[string(line[:sumLen])] = line[sumLen:]
		}
	}
	return lines
})

// compactRule reads the compact form of the rule with this YAML; ok is false
// when there is none.
func compactRule(data []byte) (*Rule, bool) {
	line := compactLines()[fmt.Sprintf("%08x ", checksum(data))]
	if line == nil {
		return nil, false
	}
	r := new(Rule)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, false
	}
	return r, r.readRanges() == nil
}

// Compact makes the compact form of all rules of a file system, one a line, in
// the order of their paths.
func Compact(fsys fs.FS) ([]byte, error) {
	paths, err := rulePaths(fsys)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, p := range paths {
		data, err := fs.ReadFile(fsys, p)
		if err != nil {
			return nil, err
		}
		r, err := ParseRule(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		line, err := r.compact()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		fmt.Fprintf(&out, "%08x %s\n", checksum(data), line)
	}
	return out.Bytes(), nil
}

// compact is the rule as JSON without the fields that are not set.
func (r *Rule) compact() ([]byte, error) {
	full, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(full, &fields); err != nil {
		return nil, err
	}
	delete(fields, "Dir")
	delete(fields, "Builtin")
	return json.Marshal(withoutNull(fields))
}

func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if inner == nil {
				delete(v, k)
				continue
			}
			v[k] = withoutNull(inner)
		}
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i])
		}
	}
	return v
}
