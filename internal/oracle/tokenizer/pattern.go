package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a compiled split pattern: the part of Oniguruma's language that
// tokenizers use. Greedy and possessive quantifiers, classes with Unicode
// properties and intersections, groups, (?i:...), (?!...), (?=...) and $; the
// leftmost alternative that matches wins, as in every backtracking engine.
// Anything else is refused when it is compiled, never approximated.
//
// The unicode package's tables (Unicode 15) decide what a letter is; the
// reference library's are of another Unicode version, so that characters
// encoded since then may be split differently.
type pattern struct {
	source string
	alts   []sequence
	first  [utf8.RuneSelf][]int // alternatives that can begin with this byte
}

type sequence []item

// item is one element of a sequence and how often it may stand there.
type item struct {
	set        *runeSet   // one code point of this set
	group      []sequence // or one of these
	look       lookKind   // or a condition on what follows
	least      int
	most       int // -1: no bound
	possessive bool
}

type lookKind int

const (
	noLook lookKind = iota
	lookAhead
	lookNot
	lookEnd
)

// compilePattern reads a split pattern. The error names what is not supported.
func compilePattern(source string) (*pattern, error) {
	c := &compiler{rest: source}
	alts, err := c.alternatives()
	if err == nil && c.rest != "" {
		err = fmt.Errorf("unexpected %q", c.rest[:1])
	}
	for _, alt := range alts {
		if err == nil && repeats(alt) > maxRepeats {
			err = fmt.Errorf("more than %d repetitions behind each other", maxRepeats)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("split pattern %s: %w", source, err)
	}
	p := &pattern{source: source, alts: alts}
	for b := range rune(utf8.RuneSelf) {
		for i, alt := range alts {
			if canBegin(alt, b) {
				p.first[b] = append(p.first[b], i)
			}
		}
	}
	return p, nil
}

// canBegin says whether a match of the sequence may begin with r. It may say
// yes where none does.
func canBegin(seq sequence, r rune) bool {
	for _, it := range seq {
		switch {
		case it.look != noLook:
			continue
		case it.set != nil && it.set.has(r):
			return true
		case it.group != nil:
			for _, g := range it.group {
				if canBegin(g, r) {
					return true
				}
			}
		}
		if it.least > 0 {
			return false
		}
	}
	return true
}

// maxRepeats bounds the repetitions that one match can try to combine: each
// multiplies the time by the length of the text. Published patterns have two.
const maxRepeats = 4

func repeats(seq sequence) int {
	n := 0
	for _, it := range seq {
		if it.most != 1 && !it.possessive {
			n++
		}
		most := 0
		for _, g := range it.group {
			most = max(most, repeats(g))
		}
		n += most
	}
	return n
}

// maxNesting bounds the groups inside groups of a pattern.
const maxNesting = 20

type compiler struct {
	rest  string
	fold  bool
	depth int
}

func (c *compiler) alternatives() ([]sequence, error) {
	var alts []sequence
	seq := sequence{}
	for c.rest != "" && c.rest[0] != ')' {
		if c.eat("|") {
			alts = append(alts, seq)
			seq = sequence{}
			continue
		}
		it, err := c.atom()
		if err != nil {
			return nil, err
		}
		if err := c.quantifier(&it); err != nil {
			return nil, err
		}
		seq = append(seq, it)
	}
	return append(alts, seq), nil
}

func (c *compiler) eat(text string) bool {
	rest, ok := strings.CutPrefix(c.rest, text)
	if ok {
		c.rest = rest
	}
	return ok
}

func (c *compiler) atom() (item, error) {
	it := item{least: 1, most: 1}
	switch {
	case c.eat("(?i:"):
		return it, c.group(&it, true)
	case c.eat("(?:"):
		return it, c.group(&it, c.fold)
	case c.eat("(?!"):
		it.look = lookNot
		return it, c.group(&it, c.fold)
	case c.eat("(?="):
		it.look = lookAhead
		return it, c.group(&it, c.fold)
	case strings.HasPrefix(c.rest, "(?"):
		return it, fmt.Errorf("%q is not supported", c.rest[:min(4, len(c.rest))])
	case c.eat("("):
		return it, c.group(&it, c.fold)
	case c.eat("["):
		spans, err := c.class()
		it.set = newRuneSet(spans)
		return it, err
	case c.eat("$"):
		it.look = lookEnd
		return it, nil
	case c.eat("."):
		it.set = newRuneSet(complement([]span{{'\n', '\n'}}))
		return it, nil
	case strings.ContainsRune("^*+?{}", rune(c.rest[0])):
		return it, fmt.Errorf("%q is not supported here", c.rest[:1])
	}
	spans, err := c.element()
	if c.fold {
		spans = folded(spans)
	}
	it.set = newRuneSet(spans)
	return it, err
}

func (c *compiler) group(it *item, fold bool) error {
	if c.depth++; c.depth > maxNesting {
		return fmt.Errorf("more than %d groups inside each other", maxNesting)
	}
	defer func(before bool) { c.fold = before; c.depth-- }(c.fold)
	c.fold = fold
	var err error
	if it.group, err = c.alternatives(); err != nil {
		return err
	}
	if !c.eat(")") {
		return fmt.Errorf("a group is not closed")
	}
	return nil
}

// class reads what follows "[".
func (c *compiler) class() ([]span, error) {
	if c.depth++; c.depth > maxNesting {
		return nil, fmt.Errorf("more than %d classes inside each other", maxNesting)
	}
	defer func() { c.depth-- }()
	negated := c.eat("^")
	var spans, both []span
	intersects := false
	for first := true; ; first = false {
		switch {
		case c.rest == "":
			return nil, fmt.Errorf("a class is not closed")
		case !first && c.eat("]"):
			spans = union(spans)
			if intersects {
				spans = intersection(both, spans)
			}
			if c.fold {
				spans = folded(spans)
			}
			if negated {
				spans = complement(spans)
			}
			return spans, nil
		case c.eat("&&"):
			spans = union(spans)
			if intersects {
				spans = intersection(both, spans)
			}
			both, spans, intersects = spans, nil, true
			continue
		case strings.HasPrefix(c.rest, "[:"):
			return nil, fmt.Errorf("%q is not supported", "[:")
		case c.eat("["):
			inner, err := c.class()
			if err != nil {
				return nil, err
			}
			spans = append(spans, inner...)
			continue
		}
		lo, err := c.element()
		if err != nil {
			return nil, err
		}
		if single(lo) && strings.HasPrefix(c.rest, "-") && !strings.HasPrefix(c.rest, "-]") {
			c.rest = c.rest[1:]
			hi, err := c.element()
			if err != nil {
				return nil, err
			}
			if !single(hi) || hi[0].lo < lo[0].lo {
				return nil, fmt.Errorf("a class holds a range without order")
			}
			lo = []span{{lo[0].lo, hi[0].hi}}
		}
		spans = append(spans, lo...)
	}
}

func single(spans []span) bool { return len(spans) == 1 && spans[0].lo == spans[0].hi }

// white is what \s stands for: Unicode's White_Space.
var white = tableSpans(unicode.White_Space)

// element reads one literal or escape.
func (c *compiler) element() ([]span, error) {
	r, n := utf8.DecodeRuneInString(c.rest)
	if r == utf8.RuneError && n <= 1 {
		return nil, fmt.Errorf("it ends too early or is not UTF-8")
	}
	c.rest = c.rest[n:]
	if r != '\\' {
		return []span{{r, r}}, nil
	}
	if c.rest == "" {
		return nil, fmt.Errorf("it ends with a backslash")
	}
	e, n := utf8.DecodeRuneInString(c.rest)
	c.rest = c.rest[n:]
	switch e {
	case 'r':
		return []span{{'\r', '\r'}}, nil
	case 'n':
		return []span{{'\n', '\n'}}, nil
	case 't':
		return []span{{'\t', '\t'}}, nil
	case 's':
		return white, nil
	case 'S':
		return complement(white), nil
	case 'd':
		return tableSpans(unicode.Nd), nil
	case 'p', 'P':
		return c.property(e == 'P')
	case 'x', 'u':
		return c.hex(e)
	}
	if e < utf8.RuneSelf && (e >= 'a' && e <= 'z' || e >= 'A' && e <= 'Z' || e >= '0' && e <= '9') {
		return nil, fmt.Errorf("\\%c is not supported", e)
	}
	return []span{{e, e}}, nil
}

// property reads {L}, {Lu}, {Han} and the like, behind \p.
func (c *compiler) property(negated bool) ([]span, error) {
	name, rest, ok := strings.Cut(strings.TrimPrefix(c.rest, "{"), "}")
	if !ok || !strings.HasPrefix(c.rest, "{") {
		return nil, fmt.Errorf("\\p without a name in braces")
	}
	c.rest = rest
	if strings.HasPrefix(name, "^") {
		name, negated = name[1:], !negated
	}
	t := unicode.Categories[name]
	if t == nil {
		t = unicode.Scripts[name]
	}
	if t == nil {
		return nil, fmt.Errorf("\\p{%s} is not known", name)
	}
	spans := tableSpans(t)
	if negated {
		spans = complement(spans)
	}
	return spans, nil
}

// hex reads \x{3040}, \x41 and \u3040.
func (c *compiler) hex(kind rune) ([]span, error) {
	digits := 2
	if kind == 'u' {
		digits = 4
	}
	text, rest, braces := "", "", strings.HasPrefix(c.rest, "{")
	if braces {
		text, rest, _ = strings.Cut(c.rest[1:], "}")
	} else {
		text, rest = c.rest[:min(digits, len(c.rest))], c.rest[min(digits, len(c.rest)):]
	}
	n, err := strconv.ParseUint(text, 16, 32)
	if err != nil || n > unicode.MaxRune || !braces && len(text) != digits {
		return nil, fmt.Errorf("\\%c without a code point", kind)
	}
	c.rest = rest
	return []span{{rune(n), rune(n)}}, nil
}

// maxRepeat bounds the counts of a quantifier.
const maxRepeat = 1000

func (c *compiler) quantifier(it *item) error {
	switch {
	case c.eat("?"):
		it.least, it.most = 0, 1
	case c.eat("*"):
		it.least, it.most = 0, -1
	case c.eat("+"):
		it.least, it.most = 1, -1
	case c.eat("{"):
		text, rest, ok := strings.Cut(c.rest, "}")
		lo, hi, ranged := strings.Cut(text, ",")
		var err, err2 error
		it.least, err = strconv.Atoi(lo)
		it.most = it.least
		if ranged && hi == "" {
			it.most = -1
		} else if ranged {
			it.most, err2 = strconv.Atoi(hi)
		}
		if !ok || err != nil || err2 != nil || it.least < 0 || it.least > maxRepeat || it.most > maxRepeat || it.most >= 0 && it.most < it.least {
			return fmt.Errorf("quantifier {%s} is not supported", text)
		}
		c.rest = rest
		if it.look != noLook || it.group != nil {
			return fmt.Errorf("repeated groups and conditions are not supported")
		}
		return nil // behind an interval, Oniguruma reads "+" as another quantifier
	default:
		return nil
	}
	if it.look != noLook || it.group != nil && it.most != 1 {
		return fmt.Errorf("repeated groups and conditions are not supported")
	}
	switch {
	case c.eat("+"):
		it.possessive = true
	case strings.HasPrefix(c.rest, "?"):
		return fmt.Errorf("lazy quantifiers are not supported")
	}
	return nil
}

// find returns the first match that begins at from or later; start is -1 when
// there is none. Empty matches do not count.
func (p *pattern) find(text string, from int) (start, end int) {
	for at := from; at < len(text); {
		if end := p.matchAt(text, at); end > at {
			return at, end
		}
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	return -1, -1
}

// matchAt returns the end of the match that begins here, or -1.
func (p *pattern) matchAt(text string, at int) int {
	m := matcher{text: text}
	if b := text[at]; b < utf8.RuneSelf {
		for _, i := range p.first[b] {
			if end := m.sequence(p.alts[i], at); end >= 0 {
				return end
			}
		}
		return -1
	}
	for _, alt := range p.alts {
		if end := m.sequence(alt, at); end >= 0 {
			return end
		}
	}
	return -1
}

// matcher walks a text by backtracking.
type matcher struct{ text string }

func (m matcher) sequence(seq sequence, at int) int {
	return m.run(seq, at, func(end int) int { return end })
}

// run matches the sequence and then what follows it, for groups that are
// followed by more; it returns the end of all, or -1.
func (m matcher) run(seq sequence, at int, then func(int) int) int {
	for len(seq) > 0 {
		it := &seq[0]
		switch {
		case it.look != noLook:
			if !m.holds(it, at) {
				return -1
			}
		case it.set != nil && it.least == 1 && it.most == 1:
			n := m.one(it.set, at)
			if n == 0 {
				return -1
			}
			at += n
		case it.set != nil:
			return m.repeat(it, seq[1:], at, then)
		default:
			return m.group(it, seq[1:], at, then)
		}
		seq = seq[1:]
	}
	return then(at)
}

// one is the length of the code point at this place when the set has it, else 0.
func (m matcher) one(set *runeSet, at int) int {
	if at >= len(m.text) {
		return 0
	}
	r, n := rune(m.text[at]), 1
	if r >= utf8.RuneSelf {
		r, n = utf8.DecodeRuneInString(m.text[at:])
	}
	if !set.has(r) {
		return 0
	}
	return n
}

func (m matcher) holds(it *item, at int) bool {
	if it.look == lookEnd {
		return at == len(m.text)
	}
	for _, alt := range it.group {
		if m.sequence(alt, at) >= 0 {
			return it.look == lookAhead
		}
	}
	return it.look == lookNot
}

// repeat matches as many code points as it can and gives back one by one.
func (m matcher) repeat(it *item, rest sequence, at int, then func(int) int) int {
	end, count := at, 0
	for it.most < 0 || count < it.most {
		n := m.one(it.set, end)
		if n == 0 {
			break
		}
		end += n
		count++
	}
	for ; count >= it.least; count-- {
		if all := m.run(rest, end, then); all >= 0 || it.possessive || count == 0 {
			return all
		}
		_, n := utf8.DecodeLastRuneInString(m.text[at:end])
		end -= n
	}
	return -1
}

// group matches a group, or, where it may be absent, what follows it.
func (m matcher) group(it *item, rest sequence, at int, then func(int) int) int {
	behind := func(end int) int { return m.run(rest, end, then) }
	for _, alt := range it.group {
		if it.possessive {
			if end := m.sequence(alt, at); end >= 0 {
				return behind(end)
			}
		} else if end := m.run(alt, at, behind); end >= 0 {
			return end
		}
	}
	if it.least > 0 {
		return -1
	}
	return behind(at)
}
