package match

import (
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// Regexp is a regular expression that costs nothing until a line needs it: it
// is compiled at its first use, and it runs only on text that holds the
// literals without which it can't match. Nearly all lines that an anchor
// selects lack one of them, and package regexp would need microseconds, for a
// wide expression nearly a millisecond, to find that out.
// It may be used from several goroutines.
type Regexp struct {
	expr  string
	ready sync.Once
	re    *regexp.Regexp
	names []string // of the groups
	need  need
	fold  bool // parts of the expression ignore case, and need is in lower case
}

// NewRegexp returns the expression, which is in RE2 syntax; its first use panics
// when CheckRegexp finds an error in it.
func NewRegexp(expr string) *Regexp { return &Regexp{expr: expr} }

// CheckRegexp says what is wrong with an expression.
func CheckRegexp(expr string) error {
	_, err := syntax.Parse(expr, syntax.Perl)
	return err
}

// Find looks for the expression in text and returns its named groups.
func (r *Regexp) Find(text []byte) (Captures, bool) {
	r.ready.Do(r.compile)
	if !r.mayMatch(text) {
		return nil, false
	}
	at := r.re.FindSubmatchIndex(text)
	if at == nil {
		return nil, false
	}
	var caps Captures
	for i, name := range r.names {
		if name != "" && at[2*i] >= 0 {
			caps = append(caps, Capture{Name: name, Value: string(text[at[2*i]:at[2*i+1]])})
		}
	}
	return caps, true
}

func (r *Regexp) compile() {
	r.re = regexp.MustCompile(r.expr)
	r.names = r.re.SubexpNames()
	if tree, err := syntax.Parse(r.expr, syntax.Perl); err == nil {
		r.fold = ignoresCase(tree)
		r.need = needOf(tree.Simplify(), r.fold)
	}
}

func ignoresCase(re *syntax.Regexp) bool {
	if re.Flags&syntax.FoldCase != 0 {
		return true
	}
	for _, sub := range re.Sub {
		if ignoresCase(sub) {
			return true
		}
	}
	return false
}

func (r *Regexp) mayMatch(text []byte) bool {
	if !r.fold {
		return r.need.metBy(text)
	}
	lower, ok := lowerASCII(text)
	// Beyond ASCII there are letters that equal ASCII ones without regard to case.
	return !ok || r.need.metBy(lower)
}

// lowerASCII returns a copy of text in lower case; ok is false when text is not
// ASCII.
func lowerASCII(text []byte) (lower []byte, ok bool) {
	lower = make([]byte, len(text))
	for i, b := range text {
		if b >= utf8.RuneSelf {
			return nil, false
		}
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		lower[i] = b
	}
	return lower, true
}
