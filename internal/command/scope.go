package command

import (
	"slices"
	"strings"
)

// expandPlain is a word's text without expansion.
func expandPlain(w lexWord) string {
	var b strings.Builder
	for _, p := range w.parts {
		b.WriteString(p.text)
	}
	return b.String()
}

// scope is what a script has set so far.
type scope struct {
	values   map[string][]Word // shell variables; arrays have several words
	exported map[string]bool
	given    map[string]string // environment that the wrapper sets
	order    []string          // exported names in their order
}

func newScope() *scope {
	return &scope{values: map[string][]Word{}, exported: map[string]bool{}}
}

func (s *scope) export(name string) {
	if !s.exported[name] {
		s.exported[name] = true
		s.order = append(s.order, name)
	}
}

func (s *scope) remove(name string) {
	delete(s.values, name)
	if s.exported[name] {
		delete(s.exported, name)
		s.order = slices.DeleteFunc(s.order, func(n string) bool { return n == name })
	}
}

// env lists the exported variables that have a value.
func (s *scope) env() []Var {
	var env []Var
	for _, name := range s.order {
		if v, ok := s.values[name]; ok {
			env = append(env, Var{Name: name, Value: joined(v), kept: true})
		}
	}
	return env
}

// joined is an array as one word.
func joined(words []Word) Word {
	if len(words) == 1 {
		return words[0]
	}
	return Word{Text: strings.Join(texts(words), " ")}
}

// maxWords bounds what variables may expand to, so that a script cannot double
// its way to any size. maxBytes bounds one word.
const (
	maxWords = 4096
	maxBytes = 16 << 10
)

// expand turns a lexed word into words. References that the script resolves are
// replaced; others stay as written.
func (s *scope) expand(w lexWord) []Word {
	x := expansion{scope: s}
	for i, p := range w.parts {
		switch {
		case p.ref:
			x.reference(p)
		case !p.quoted:
			x.bare(p.text, i == 0 || assigns(lexWord{parts: w.parts[:i]}))
		default:
			x.literal(p.text)
		}
		if len(x.words) >= maxWords {
			break
		}
	}
	x.close()
	return x.words
}

// expandAll expands every word of a list.
func (s *scope) expandAll(list []lexWord) []Word {
	var out []Word
	for _, w := range list {
		if out = append(out, s.expand(w)...); len(out) >= maxWords {
			return out[:maxWords]
		}
	}
	return out
}

type expansion struct {
	scope *scope
	words []Word
	text  strings.Builder
	raw   strings.Builder
	open  bool // a word has begun
	keep  bool // the word has something that only the shell can resolve
}

func (x *expansion) close() {
	if !x.open {
		return
	}
	w := Word{Text: x.text.String()}
	if x.keep {
		w.Raw = x.raw.String()
	}
	x.words = append(x.words, w)
	x.text.Reset()
	x.raw.Reset()
	x.open, x.keep = false, false
}

func (x *expansion) literal(text string) {
	x.open = true
	if text == "" || x.text.Len() > maxBytes {
		return
	}
	x.text.WriteString(text)
	x.raw.WriteString(Quote(text))
}

// bare takes unquoted text: a leading "~/" and wildcards mean something to the
// shell.
func (x *expansion) bare(text string, first bool) {
	if first && (text == "~" || strings.HasPrefix(text, "~/")) {
		x.verbatim("~", "~")
		text = text[1:]
	}
	for text != "" {
		i := strings.IndexAny(text, "*?")
		if i < 0 {
			x.literal(text)
			return
		}
		x.literal(text[:i])
		x.verbatim(text[i:i+1], text[i:i+1])
		text = text[i+1:]
	}
}

func (x *expansion) verbatim(text, raw string) {
	x.open, x.keep = true, true
	if x.text.Len() > maxBytes {
		return
	}
	x.text.WriteString(text)
	x.raw.WriteString(raw)
}

func (x *expansion) reference(p part) {
	value, known := x.scope.values[p.name]
	given, set := x.scope.given[p.name]
	switch {
	case !known && set && (p.quoted || !strings.ContainsAny(given, " \t\n")):
		x.verbatim(given, quotedReference(p))
	case !known && set:
		x.fields([]Word{{Text: given}}, false)
	case !known && p.fallback != "":
		x.verbatim(p.fallback, quotedReference(p))
	case !known:
		x.verbatim(p.text, quotedReference(p))
	case p.list || !p.quoted:
		x.fields(value, p.quoted)
	default:
		x.value(joined(value))
	}
}

func quotedReference(p part) string {
	if p.quoted {
		return `"` + p.text + `"`
	}
	return p.text
}

// value adds a known value to the word.
func (x *expansion) value(w Word) {
	if w.Raw != "" {
		x.verbatim(w.Text, w.Raw)
		return
	}
	x.literal(w.Text)
}

// fields adds the elements of a list, or the fields of an unquoted variable.
func (x *expansion) fields(words []Word, quoted bool) {
	if !quoted {
		words = split(words)
	}
	for i, w := range words {
		if i > 0 {
			x.close()
		}
		x.value(w)
		if len(x.words) >= maxWords {
			return
		}
	}
}

// split cuts plain words at blanks, as the shell does with unquoted variables.
func split(words []Word) []Word {
	var out []Word
	for _, w := range words {
		if w.Raw != "" {
			out = append(out, w)
			continue
		}
		out = append(out, plain(strings.Fields(w.Text))...)
	}
	return out
}

// assignment reads NAME=value, NAME+=value or NAME=(...).
func assignment(w lexWord) (name string, rest lexWord, add, ok bool) {
	if len(w.parts) == 0 || w.parts[0].quoted || w.parts[0].ref {
		return "", lexWord{}, false, false
	}
	name, ok = strings.CutSuffix(w.parts[0].text, "=")
	if !ok {
		return "", lexWord{}, false, false
	}
	name, add = strings.CutSuffix(name, "+")
	rest = lexWord{parts: w.parts[1:], array: w.array}
	return name, rest, add, identify.MatchString(name)
}

// set carries out an assignment.
func (s *scope) set(name string, value lexWord, add bool) {
	var words []Word
	if value.array != nil {
		words = s.expandAll(value.array)
		if add {
			words = append(slices.Clone(s.values[name]), words...)
		}
	} else {
		words = []Word{s.scalar(value)}
		if old := s.values[name]; add && len(old) > 0 {
			words = []Word{concat(joined(old), words[0])}
		}
	}
	if len(words) <= maxWords {
		s.values[name] = words
	}
}

// scalar expands a value without splitting it into fields.
func (s *scope) scalar(w lexWord) Word {
	quoted := lexWord{parts: slices.Clone(w.parts)}
	for i := range quoted.parts {
		if quoted.parts[i].ref {
			quoted.parts[i].quoted = true
		}
	}
	return joined(s.expand(quoted))
}

func concat(a, b Word) Word {
	w := Word{Text: a.Text + b.Text}
	if a.Raw != "" || b.Raw != "" {
		w.Raw = shellWord(a) + shellWord(b)
	}
	if len(w.Text) > maxBytes {
		return a
	}
	return w
}
