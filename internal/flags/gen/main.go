// Command gen distils argparse dumps of engine releases into the embedded flag
// tables of package flags.
//
//	go run ./internal/flags/gen INPUT_DIR OUTPUT_DIR
//
// INPUT_DIR holds one <engine>-<version>.json per release: an object with
// engine, version and a list of flags, each an argparse action's attributes.
// Help texts are read past: only names, types, defaults and choices are kept.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"shakedown/internal/flags"
	"shakedown/internal/flags/dataset"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen INPUT_DIR OUTPUT_DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// fields maps the dests that SGLang's ServerArgs.from_cli_args copies into a
// field of another name (python/sglang/srt/server_args.py).
var fields = map[string]string{
	"tensor_parallel_size":            "tp_size",
	"pipeline_parallel_size":          "pp_size",
	"data_parallel_size":              "dp_size",
	"expert_parallel_size":            "ep_size",
	"attention_context_parallel_size": "attn_cp_size",
	"moe_data_parallel_size":          "moe_dp_size",
}

// dump is one input file.
type dump struct {
	Engine  string   `json:"engine"`
	Version string   `json:"version"`
	Flags   []action `json:"flags"`
}

// action is one argparse action as dumped.
type action struct {
	Flags      []string `json:"flags"`
	Dest       string   `json:"dest"`
	Action     string   `json:"action"`
	Type       string   `json:"type"`
	Nargs      any      `json:"nargs"`
	Default    any      `json:"default"`
	Choices    []any    `json:"choices"`
	Required   bool     `json:"required"`
	Deprecated bool     `json:"deprecated"`
	Hidden     bool     `json:"hidden"`
	ReplacedBy string   `json:"replaced_by"`
}

func run(in, out string) error {
	engines, err := read(in)
	if err != nil {
		return err
	}
	for engine, dumps := range engines {
		file, err := merge(engine, dumps)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(out, engine+".json"), file); err != nil {
			return err
		}
	}
	return nil
}

// read loads all dumps of a folder, by engine.
func read(dir string) (map[string][]dump, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no *.json in %s", dir)
	}
	engines := map[string][]dump{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber() // 1.0 must stay 1.0
		var d dump
		if err := dec.Decode(&d); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		engines[d.Engine] = append(engines[d.Engine], d)
	}
	return engines, nil
}

// merge stores equal definitions of several releases once.
func merge(engine string, dumps []dump) (dataset.File, error) {
	versions := map[string]flags.Version{}
	for _, d := range dumps {
		v, err := flags.ParseVersion(d.Version)
		if err != nil {
			return dataset.File{}, err
		}
		versions[d.Version] = v
	}
	slices.SortFunc(dumps, func(a, b dump) int { return versions[a.Version].Compare(versions[b.Version]) })

	file := dataset.File{Engine: engine}
	index := map[string]int{} // encoded definition -> row
	for i, d := range dumps {
		file.Versions = append(file.Versions, d.Version)
		for _, a := range d.Flags {
			row := distil(a)
			if field, ok := fields[row.Dest]; ok && engine == "sglang" {
				row.Dest = field
			}
			key, err := json.Marshal(row)
			if err != nil {
				return dataset.File{}, err
			}
			at, ok := index[string(key)]
			if !ok {
				at = len(file.Rows)
				index[string(key)] = at
				file.Rows = append(file.Rows, row)
			}
			file.Rows[at].In = extend(file.Rows[at].In, i)
		}
	}
	slices.SortStableFunc(file.Rows, func(a, b dataset.Row) int { return strings.Compare(a.Dest, b.Dest) })
	return file, nil
}

// extend adds release i to the last span or begins a new one.
func extend(spans []dataset.Span, i int) []dataset.Span {
	if n := len(spans); n > 0 && spans[n-1][1] >= i-1 {
		spans[n-1][1] = i
		return spans
	}
	return append(spans, dataset.Span{i, i})
}

func distil(a action) dataset.Row {
	row := dataset.Row{
		Names: a.Flags, Dest: a.Dest,
		Required: a.Required, Deprecated: a.Deprecated, Hidden: a.Hidden, ReplacedBy: a.ReplacedBy,
	}
	if name := strings.TrimSuffix(a.Action, "Action"); name != "Store" {
		row.Action = name
	}
	if a.Type != "str" {
		row.Type = a.Type
	}
	if a.Nargs != nil {
		row.Nargs = fmt.Sprint(a.Nargs)
	}
	// argparse.SUPPRESS: the flag itself has no default.
	if s, ok := a.Default.(string); a.Default != nil && (!ok || s != "==SUPPRESS==") {
		row.Default = python(a.Default)
	}
	for _, c := range a.Choices {
		if c != nil { // None cannot be typed
			row.Choices = append(row.Choices, python(c))
		}
	}
	return row
}

// python writes a decoded JSON value as Python's str() would.
func python(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = quoted(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for k, e := range v {
			parts = append(parts, quoted(k)+": "+quoted(e))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// quoted is python with strings in quotes, as inside a container.
func quoted(v any) string {
	if s, ok := v.(string); ok {
		return "'" + s + "'"
	}
	return python(v)
}

// write puts one row on a line, so that a new release reads as a small diff.
func write(path string, file dataset.File) error {
	var b bytes.Buffer
	versions, err := json.Marshal(file.Versions)
	if err != nil {
		return err
	}
	fmt.Fprintf(&b, "{\"engine\":%q,\"versions\":%s,\"rows\":[\n", file.Engine, versions)
	for i, row := range file.Rows {
		line, err := json.Marshal(row)
		if err != nil {
			return err
		}
		b.Write(line)
		if i < len(file.Rows)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return os.WriteFile(path, b.Bytes(), 0o644)
}
