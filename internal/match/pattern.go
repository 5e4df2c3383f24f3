package match

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Capture is one named value that a pattern took from a line.
type Capture struct {
	Name, Value string
}

// Captures are the named values of one match, in the order of the pattern.
type Captures []Capture

// Get returns the value of a name; ok is false when the pattern has no such
// capture.
func (c Captures) Get(name string) (value string, ok bool) {
	for i := range c {
		if c[i].Name == name {
			return c[i].Value, true
		}
	}
	return "", false
}

// Pattern is a parsed capture pattern: literals with captures between them. It
// is immutable and may be used from several goroutines.
type Pattern struct {
	tokens []token
	named  int // captures with a name
}

// token is a literal, or a capture (literal nil; name empty for <_>).
type token struct {
	literal []byte
	name    string
}

// ParsePattern reads a capture pattern: literal text, <name> for a named
// capture, <_> for an unnamed one, << for a literal "<". Names consist of ASCII
// letters, digits and underscores. A pattern needs a literal, and two captures
// need a literal between them, else the place of their border is undefined.
func ParsePattern(text string) (*Pattern, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	p := &Pattern{tokens: tokens}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	return p, nil
}

func (p *Pattern) check() error {
	seen := make(map[string]bool)
	literals := 0
	for i, t := range p.tokens {
		if t.literal != nil {
			literals++
			continue
		}
		if i > 0 && p.tokens[i-1].literal == nil {
			return errors.New("two captures without a literal between them")
		}
		if t.name == "" {
			continue
		}
		if seen[t.name] {
			return fmt.Errorf("two captures named %q", t.name)
		}
		seen[t.name] = true
		p.named++
	}
	if literals == 0 {
		return errors.New("no literal text")
	}
	return nil
}

// tokenize splits the notation that patterns and templates share.
func tokenize(text string) ([]token, error) {
	var tokens []token
	var literal []byte
	flush := func() {
		if len(literal) > 0 {
			tokens = append(tokens, token{literal: literal})
			literal = nil
		}
	}
	for text != "" {
		open := strings.IndexByte(text, '<')
		if open < 0 {
			literal = append(literal, text...)
			break
		}
		literal = append(literal, text[:open]...)
		text = text[open+1:]
		if strings.HasPrefix(text, "<") {
			literal = append(literal, '<')
			text = text[1:]
			continue
		}
		name, rest, closed := strings.Cut(text, ">")
		if !closed || !isName(name) {
			return nil, fmt.Errorf("%q opens no capture (write << for a literal <)", "<"+text)
		}
		flush()
		if name == "_" {
			name = ""
		}
		tokens = append(tokens, token{name: name})
		text = rest
	}
	flush()
	return tokens, nil
}

func isName(s string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && c != '_' && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// Match looks for the pattern anywhere in a line. Each literal is taken at its
// first occurrence after the one before it; a capture is the text between two
// literals, without surrounding blanks. A leading capture starts at the start
// of the line, a trailing one takes the rest of it. Since gaps accept any text,
// taking first occurrences finds a match whenever there is one, in one pass
// over the line and without backtracking.
func (p *Pattern) Match(line []byte) (Captures, bool) {
	var caps Captures
	from := 0     // end of the literal before
	pending := -1 // token that captures from there, -1 for none
	for i, t := range p.tokens {
		if t.literal == nil {
			pending = i
			continue
		}
		at := bytes.Index(line[from:], t.literal)
		if at < 0 {
			return nil, false
		}
		caps = p.capture(caps, pending, line[from:from+at])
		from += at + len(t.literal)
		pending = -1
	}
	return p.capture(caps, pending, line[from:]), true
}

// capture appends the value of the token at index i unless it has no name.
func (p *Pattern) capture(caps Captures, i int, value []byte) Captures {
	if i < 0 || p.tokens[i].name == "" {
		return caps
	}
	if caps == nil {
		caps = make(Captures, 0, p.named)
	}
	return append(caps, Capture{Name: p.tokens[i].name, Value: string(bytes.TrimSpace(value))})
}

// soleName returns the name of a template that is one value, as most are.
func soleName(template string) (name string, ok bool) {
	name, ok = strings.CutPrefix(template, "<")
	if ok {
		name, ok = strings.CutSuffix(name, ">")
	}
	return name, ok && isName(name)
}

// Expand fills the <name> places of a template; << gives a literal "<". ok is
// false when the template names a value that the match does not have (an older
// form of the line may lack it) or is no valid template.
func Expand(template string, caps Captures) (text string, ok bool) {
	if !strings.Contains(template, "<") {
		return template, true
	}
	if name, ok := soleName(template); ok {
		return caps.Get(name)
	}
	tokens, err := tokenize(template)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	for _, t := range tokens {
		if t.literal != nil {
			b.Write(t.literal)
			continue
		}
		value, found := caps.Get(t.name)
		if !found {
			return "", false
		}
		b.WriteString(value)
	}
	return b.String(), true
}
