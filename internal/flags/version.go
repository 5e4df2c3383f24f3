package flags

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Version is a release number that can be compared: a Python version (PEP 440:
// "0.5.9", "0.5.9.post1", "1.2.0rc4", "0.5.9.dev604+g96"), an image tag made
// from one ("v0.5.9-cu130") or a llama.cpp build number ("b9010", "9010").
// The zero Version is an unknown one.
type Version struct {
	text    string
	release []int
	pre     [2]int // stage (see stages) and number
	post    int    // 0: none; post0 counts as 1
	dev     int    // notDev or the number of a development build
	build   bool   // carries a local part: a fork, a wheel variant, a commit
}

const (
	stageFinal = 0
	stageDev   = -4        // a development build before any pre-release of its release
	notDev     = 1<<31 - 1 // sorts behind every development build
)

// stages orders the pre-release stages of PEP 440 below a final release.
var stages = map[string]int{
	"a": -3, "alpha": -3,
	"b": -2, "beta": -2,
	"rc": -1, "c": -1, "pre": -1, "preview": -1,
}

// maxVersion bounds the text of a version; longer text is no version.
const maxVersion = 200

// The last group takes what follows a version: "+g96ab", "-cu130", " (a commit)".
var versionForm = regexp.MustCompile(`(?i)^(?:v|b|version:? *)?(\d{1,9}(?:\.\d{1,9}){0,5})` +
	`(?:[-._]?(alpha|a|beta|b|rc|c|preview|pre)[-._]?(\d{0,9}))?` +
	`(?:[-._]?(post|rev)[-._]?(\d{0,9}))?` +
	`(?:[-._]?(dev)[-._]?(\d{0,9}))?` +
	`([-+_ (].*)?$`)

// ParseVersion reads a version. The error names the text.
func ParseVersion(text string) (Version, error) {
	s := strings.TrimSpace(text)
	if len(s) > maxVersion {
		return Version{}, fmt.Errorf("version %.20q...: longer than %d bytes", s, maxVersion)
	}
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return Version{}, fmt.Errorf("version %q: want a form like 0.5.9, 0.5.9.post1, 1.2.0rc4 or b9010", s)
	}
	v := Version{text: s, dev: notDev, build: m[8] != ""}
	for part := range strings.SplitSeq(m[1], ".") {
		v.release = append(v.release, number(part))
	}
	if m[2] != "" {
		v.pre = [2]int{stages[strings.ToLower(m[2])], number(m[3])}
	}
	if m[4] != "" {
		v.post = number(m[5]) + 1
	}
	if m[6] != "" {
		v.dev = number(m[7])
		if m[2] == "" && m[4] == "" {
			v.pre[0] = stageDev
		}
	}
	return v, nil
}

// number reads digits that versionForm has bounded; no digits are 0.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// String returns the version as it was written.
func (v Version) String() string { return v.text }

// Known is false for the zero Version.
func (v Version) Known() bool { return len(v.release) > 0 }

// Unreleased is true for development builds and pre-releases.
func (v Version) Unreleased() bool { return v.pre[0] != stageFinal || v.dev != notDev }

// Base is the release that a development build, pre-release or fork belongs
// to: 0.5.9 for "0.5.9.dev604+g96", 0.5.9.post1 for "0.5.9.post1+cu130".
func (v Version) Base() Version {
	parts := make([]string, len(v.release))
	for i, n := range v.release {
		parts[i] = strconv.Itoa(n)
	}
	text := strings.Join(parts, ".")
	if v.post > 0 {
		text += ".post" + strconv.Itoa(v.post-1)
	}
	return Version{text: text, release: v.release, post: v.post, dev: notDev}
}

// Compare orders versions as PEP 440 does: development builds and
// pre-releases before their release, post-releases behind it, missing numbers
// as zero. Local parts ("+g96", "-cu130") do not count.
func (v Version) Compare(w Version) int {
	if c := compareRelease(v.release, w.release); c != 0 {
		return c
	}
	return cmp.Or(
		slices.Compare(v.pre[:], w.pre[:]),
		cmp.Compare(v.post, w.post),
		cmp.Compare(v.dev, w.dev),
	)
}

func compareRelease(a, b []int) int {
	for i := range max(len(a), len(b)) {
		var x, y int
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
	}
	return 0
}

// Range is a set of versions: every one of its comparisons must hold. The zero
// Range holds every version.
type Range struct {
	text  string
	terms []term
}

type term struct {
	op    string
	bound Version
}

var termForm = regexp.MustCompile(`^(>=|<=|==|!=|=|>|<)?\s*([^\s<>=!]+)$`)

// gap joins an operator and its version, so that "< 0.6" is one term.
var gap = regexp.MustCompile(`([<>=!])\s+`)

// ParseRange reads comparisons separated by spaces or commas: ">=0.5.6 <0.6".
// A version without operator means "==". Empty text is every version.
func ParseRange(text string) (Range, error) {
	r := Range{text: text}
	for _, field := range strings.FieldsFunc(gap.ReplaceAllString(text, "$1"), func(c rune) bool { return c == ' ' || c == ',' }) {
		m := termForm.FindStringSubmatch(field)
		if m == nil {
			return Range{}, fmt.Errorf("version range %q: cannot read %q", text, field)
		}
		bound, err := ParseVersion(m[2])
		if err != nil {
			return Range{}, fmt.Errorf("version range %q: %w", text, err)
		}
		r.terms = append(r.terms, term{op: m[1], bound: bound})
	}
	return r, nil
}

// String returns the range as it was written.
func (r Range) String() string { return r.text }

// Has says whether v is in the range. A development build or pre-release
// counts as the release it leads to, because it has most of that release's
// code, unless the bound is itself one (">=1.2.0rc4"). An unknown version is
// only in the zero Range.
func (r Range) Has(v Version) bool {
	for _, t := range r.terms {
		if !v.Known() || !t.holds(v) {
			return false
		}
	}
	return true
}

func (t term) holds(v Version) bool {
	if !t.bound.Unreleased() {
		v = v.Base()
	}
	c := v.Compare(t.bound)
	switch t.op {
	case ">=":
		return c >= 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case "<":
		return c < 0
	case "!=":
		return c != 0
	}
	return c == 0
}
