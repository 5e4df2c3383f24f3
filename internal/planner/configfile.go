package planner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"shakedown/internal/flags"
)

// maxConfig bounds an engine's own config file, in bytes.
const maxConfig = 1 << 20

// withConfigFile replaces --config FILE by the arguments that the file holds, in
// front of the others, so that those of the command line win, as both engines
// do (sglang/srt/server_args_config_parser.py 0.5.9,
// vllm/utils/argparse_utils.py 0.32).
func (p *planner) withConfigFile(options []string, table *flags.Table) (all []string, file string, err error) {
	rest, file := cutConfig(options)
	if file == "" {
		return options, "", nil
	}
	data, err := readConfigYAML(mapped(p.opt.Map, file))
	if err != nil {
		return nil, file, fmt.Errorf("--config %s: %w", file, err)
	}
	args, err := configArgs(data, table)
	if err != nil {
		return nil, file, fmt.Errorf("--config %s: %w", file, err)
	}
	return append(args, rest...), file, nil
}

// cutConfig takes --config out of options.
func cutConfig(options []string) (rest []string, file string) {
	for i := 0; i < len(options); i++ {
		name, value, glued := strings.Cut(options[i], "=")
		switch {
		case name != "--config":
			rest = append(rest, options[i])
		case glued:
			file = value
		case i+1 < len(options):
			i++
			file = options[i]
		}
	}
	return rest, file
}

func readConfigYAML(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxConfig {
		return nil, fmt.Errorf("larger than %d bytes", maxConfig)
	}
	return data, nil
}

var errNotMapping = errors.New("the file must hold names with values at its top level")

// configArgs turns an engine's YAML file into arguments, in the order of the
// file.
func configArgs(data []byte, table *flags.Table) ([]string, error) {
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errNotMapping
	}
	var out []string
	root := doc.Content[0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		args, err := configArg(root.Content[i].Value, root.Content[i+1], table)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", root.Content[i].Line, err)
		}
		out = append(out, args...)
	}
	return out, nil
}

func configArg(key string, n *yaml.Node, table *flags.Table) ([]string, error) {
	flag := "--" + key
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.ScalarNode:
		var on bool
		if n.Tag != "!!bool" || n.Decode(&on) != nil {
			return []string{flag, n.Value}, nil
		}
		if on {
			return []string{flag}, nil
		}
		if no := "--no-" + key; table != nil && table.Flag(no) != nil {
			return []string{no}, nil
		}
		return nil, nil
	case yaml.SequenceNode:
		out := []string{flag}
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("%s: a list of plain values is expected", key)
			}
			out = append(out, e.Value)
		}
		if len(out) == 1 {
			return nil, nil
		}
		return out, nil
	case yaml.MappingNode:
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, err
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", key, strconv.Quote(err.Error()))
		}
		return []string{flag, string(text)}, nil
	}
	return nil, fmt.Errorf("%s: no value", key)
}
