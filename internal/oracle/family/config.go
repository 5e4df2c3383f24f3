package family

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"shakedown/internal/hfconfig"
)

// Limits of what a config may claim. They keep a hostile file from asking for
// absurd memory, and are an order of magnitude above anything published.
const (
	maxWidth   = 1 << 20
	maxLayers  = 1 << 10
	maxVocab   = 1 << 22
	maxExperts = 1 << 14
)

// fields reads a config and collects everything that is wrong with it, so that
// a user learns all of it at once.
type fields struct {
	hfconfig.Object
	errs []error
}

func (f *fields) fail(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

func (f *fields) err() error { return errors.Join(f.errs...) }

// width is a positive whole number of at most most; an absent field is
// otherwise, which is 0 where the family has no default.
func (f *fields) width(name string, otherwise, most int) int {
	n := otherwise
	if f.Has(name) {
		var ok bool
		if n, ok = f.Int(name); !ok {
			f.fail("%s is %v: a whole number is expected", name, f.Object[name])
			return 1
		}
	} else if otherwise == 0 {
		f.fail("%s is missing", name)
		return 1
	}
	if n < 1 || n > most {
		f.fail("%s is %d: 1 to %d is supported", name, n, most)
		return 1
	}
	return n
}

// spelled is the first of several names of one field that is there, the first of
// all when none is.
func (f *fields) spelled(names ...string) string {
	for _, n := range names {
		if f.Has(n) {
			return n
		}
	}
	return names[0]
}

// count is width where 0 is a value of its own and null means 0.
func (f *fields) count(name string, otherwise, most int) int {
	v, present := f.Object[name]
	switch {
	case !present:
		return otherwise
	case v == nil:
		return 0
	}
	n, ok := f.Int(name)
	if !ok || n < 0 || n > most {
		f.fail("%s is %v: 0 to %d is supported", name, v, most)
		return 0
	}
	return n
}

// number is a finite number; an absent or null field is otherwise.
func (f *fields) number(name string, otherwise float64) float64 {
	if !f.Has(name) {
		return otherwise
	}
	x, ok := f.Float(name)
	if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
		f.fail("%s is %v: a finite number is expected", name, f.Object[name])
		return otherwise
	}
	return x
}

// positive is number above zero.
func (f *fields) positive(name string, otherwise float64) float64 {
	x := f.number(name, otherwise)
	if x <= 0 {
		f.fail("%s is %v: a number above 0 is expected", name, x)
		return 1
	}
	return x
}

// flag is a truth value; an absent or null field is otherwise.
func (f *fields) flag(name string, otherwise bool) bool {
	if !f.Has(name) {
		return otherwise
	}
	b, ok := f.Bool(name)
	if !ok {
		f.fail("%s is %v: true or false is expected", name, f.Object[name])
	}
	return b
}

// must checks a text field that this program supports with some values only. An
// absent field is the first of them.
func (f *fields) must(name string, supported ...string) string {
	if !f.Has(name) {
		return supported[0]
	}
	s, ok := f.Str(name)
	for _, want := range supported {
		if ok && s == want {
			return s
		}
	}
	f.fail("%s %v is not supported: %s is", name, f.Object[name], strings.Join(supported, ", "))
	return supported[0]
}

// ids reads a field that is one token id or a list of them.
func (f *fields) ids(name string) []int {
	if n, ok := f.Int(name); ok {
		return []int{n}
	}
	var ids []int
	for _, v := range f.List(name) {
		if n, ok := hfconfig.Int(v); ok {
			ids = append(ids, n)
		}
	}
	return ids
}
