package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of a manifest: documents, nodes after aliases are replaced, and depth.
const (
	maxDocuments = 100
	maxNodes     = 50000
	maxDepth     = 64
)

// parseYAML reads compose files and Kubernetes manifests.
func parseYAML(text string) ([]Command, error) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	var commands []Command
	budget := maxNodes
	for range maxDocuments {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return commands, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not a compose file or manifest: %w", err)
		}
		root, err := flatten(&doc, &budget, 0)
		if err != nil {
			return nil, err
		}
		if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
			root = root.Content[0]
		}
		if services := field(root, "services"); services != nil && services.Kind == yaml.MappingNode {
			commands = append(commands, composeCommands(services)...)
		} else {
			commands = append(commands, podCommands(root)...)
		}
	}
	return commands, nil
}

// flatten copies a tree with aliases and merge keys replaced by what they stand
// for, so that any part of it can be printed alone.
func flatten(n *yaml.Node, budget *int, depth int) (*yaml.Node, error) {
	if *budget--; *budget < 0 || depth > maxDepth {
		return nil, fmt.Errorf("manifest is too large: more than %d values or %d levels after aliases are replaced", maxNodes, maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		return flatten(n.Alias, budget, depth+1)
	}
	out := *n
	out.Anchor, out.Content = "", nil
	out.Style &^= yaml.FlowStyle // JSON reads better as a block
	for i := 0; i < len(n.Content); i++ {
		child, err := flatten(n.Content[i], budget, depth+1)
		if err != nil {
			return nil, err
		}
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Value == "<<" && i+1 < len(n.Content) {
			value, err := flatten(n.Content[i+1], budget, depth+1)
			if err != nil {
				return nil, err
			}
			i++
			merge(&out, value, n)
			continue
		}
		if n.Kind == yaml.MappingNode && i%2 == 0 && identify.MatchString(child.Value) {
			child.Style &^= yaml.DoubleQuotedStyle
		}
		out.Content = append(out.Content, child)
	}
	return &out, nil
}

// merge adds the fields of a merge key that the mapping does not set itself.
func merge(out, value, original *yaml.Node) {
	sources := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		sources = value.Content
	}
	for _, s := range sources {
		if s.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(s.Content); i += 2 {
			if key := s.Content[i].Value; field(original, key) == nil && field(out, key) == nil {
				out.Content = append(out.Content, s.Content[i], s.Content[i+1])
			}
		}
	}
}

// field is the value of a mapping's key; nil when there is none.
func field(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// withField returns a copy of a mapping with a key set, or removed when the
// value is nil. A new key goes behind the key named after.
func withField(n *yaml.Node, key string, value *yaml.Node, after string) *yaml.Node {
	out := *n
	out.Content = slices.Clone(n.Content)
	at := len(out.Content)
	for i := 0; i+1 < len(out.Content); i += 2 {
		switch out.Content[i].Value {
		case key:
			if value == nil {
				out.Content = slices.Delete(out.Content, i, i+2)
			} else {
				out.Content[i+1] = value
			}
			return &out
		case after:
			at = i + 2
		}
	}
	if value != nil {
		out.Content = slices.Insert(out.Content, at, text(key), value)
	}
	return &out
}

// ambiguous text is a string here and a boolean or number to YAML 1.1 readers,
// of which Kubernetes is one.
var ambiguous = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|[-+.0-9][-+.:_0-9a-fox]*)$`)

func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	if ambiguous.MatchString(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// scalars are the values of a list, or the one value.
func scalars(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var out []string
	for _, c := range n.Content {
		if c.Kind == yaml.ScalarNode {
			out = append(out, c.Value)
		}
	}
	return out
}

// lastLine is the last line of a node.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	if n.Kind == yaml.ScalarNode {
		last += strings.Count(strings.TrimSuffix(n.Value, "\n"), "\n")
	}
	return last
}

// manifest is the part that compose services and Kubernetes containers share: a
// mapping with an entry point, arguments and an environment.
type manifest struct {
	node              *yaml.Node
	entryKey, argsKey string // entrypoint and command; command and args
	split             int    // words of the command that stand under entryKey
	lang              language
}

// withCommand sets the words and keeps the division between the two keys,
// unless a change reached into the entry point.
func (m manifest) withCommand(c Command, words []Word) *yaml.Node {
	words = words[c.implicit:]
	split := m.split
	if fixed := c.fixed(); split > fixed {
		split = len(words)
	}
	node := m.node
	if split > 0 {
		node = withField(node, m.entryKey, m.list(words[:split]), "image")
	}
	var args *yaml.Node
	if split < len(words) {
		args = m.list(words[split:])
	}
	after := "image"
	if field(node, m.entryKey) != nil {
		after = m.entryKey
	}
	return withField(node, m.argsKey, args, after)
}

// fixed is the number of leading words that no change of the command touches.
func (c Command) fixed() int {
	if c.nest != nil {
		return len(c.nest.shell)
	}
	return len(c.Prefix) + c.head
}

func (m manifest) language() language { return m.lang }

// redacted hides the secrets around what withCommand and the environment of
// envKey write anew.
func (m manifest) redacted(h *hider, envKey string) manifest {
	rewritten := []string{m.argsKey, envKey}
	if m.split > 0 {
		rewritten = append(rewritten, m.entryKey)
	}
	for _, key := range rewritten {
		if old := field(m.node, key); old != nil {
			m.node = withField(m.node, key, &yaml.Node{Kind: old.Kind}, "")
		}
	}
	m.node = h.nodes(m.node, m.lang)
	return m
}

func (m manifest) list(words []Word) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for _, w := range words {
		n.Content = append(n.Content, text(m.lang.spell(w)))
	}
	return n
}

// nestedKeeping reads a nested script with the manifest's references as they
// are written, unless it also has escaped ones, which would then be confused.
func nestedKeeping(env []Var, escaped string) func(Word) []Command {
	r := reader(env, false)
	return func(w Word) []Command {
		if w.Raw != "" && !strings.Contains(w.Raw, escaped) {
			return r.nestedText(w.Raw)
		}
		return r.nested(w)
	}
}

// manifestWords are the words to print; a nested script that nestedKeeping read
// as written is printed so, with new text escaped.
func (c Command) manifestWords(mark, escaped string) []Word {
	if c.nest == nil || c.nest.raw == "" || strings.Contains(c.nest.raw, escaped) {
		return c.words()
	}
	return c.wordsKeeping(
		func(quoted string) string { return strings.ReplaceAll(quoted, mark, escaped) },
		func(script string) string { return script })
}

// encode writes a node as YAML, indented by two.
func encode(n *yaml.Node) string {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		// Only a node that we built wrongly cannot be written.
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func mapping(key string, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text(key), value}}
}
