package flags

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Arg is one flag or positional argument of an argument vector.
type Arg struct {
	Flag   *Flag    // nil: unknown to the table
	Name   string   // as written, without "=value"; empty for a positional
	Path   string   // path into a JSON value, with its dot: ".level"; usually empty
	Values []string // values given; for a switch the value it sets
	Index  int      // first element of the argument vector
	Len    int      // elements it takes up
}

// Setting is the setting that the argument writes, with its path; empty when
// the flag is unknown.
func (a Arg) Setting() string {
	if a.Flag == nil {
		return ""
	}
	return a.Flag.Setting + a.Path
}

// Value is the value as Python prints it: a list for flags that take several.
func (a Arg) Value() string {
	if a.Flag == nil || a.Flag.Nargs != "*" && a.Flag.Nargs != "+" {
		return strings.Join(a.Values, " ")
	}
	parts := make([]string, len(a.Values))
	for i, v := range a.Values {
		if a.Flag.Type != "int" && a.Flag.Type != "float" {
			v = "'" + v + "'"
		}
		parts[i] = v
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Parsed is an argument vector as the release's parser reads it.
type Parsed struct {
	Args []Arg // in their order; positionals have no name
}

// Asked returns the last argument that writes a setting: argparse lets the
// last one win.
func (p Parsed) Asked(setting string) (Arg, bool) {
	for _, a := range slices.Backward(p.Args) {
		if a.Setting() == setting {
			return a, true
		}
	}
	return Arg{}, false
}

// ProblemKind classifies what a parser would say.
type ProblemKind string

// Kinds of problems. All but Deprecated make the parser refuse to start.
const (
	UnknownFlag    ProblemKind = "unknown"
	RemovedFlag    ProblemKind = "removed"
	IntroducedFlag ProblemKind = "introduced-later"
	RenamedFlag    ProblemKind = "renamed"
	DeprecatedFlag ProblemKind = "deprecated"
	AmbiguousFlag  ProblemKind = "ambiguous"
	BadChoice      ProblemKind = "bad-choice"
	BadValue       ProblemKind = "bad-value"
	MissingValue   ProblemKind = "missing-value"
	MissingFlag    ProblemKind = "missing-flag"
	StrayArgument  ProblemKind = "stray-argument"
)

// Problem is one thing that the release's parser refuses or warns about.
type Problem struct {
	Kind    ProblemKind
	Flag    string   // as written
	Index   int      // element of the argument vector; -1 when nothing is there
	Text    string   // a sentence for the user
	Version string   // release of the change, for removed, renamed and introduced flags
	Use     string   // what to write instead, when known
	Near    []string // similar names, or the candidates of an abbreviation
}

// Parse reads the arguments behind the program's name as argparse does:
// "--a=b", "--a b", several values, switches with "--no-" forms, unambiguous
// abbreviations, "--". It never fails; what the parser would refuse is in the
// problems.
func (t *Table) Parse(argv []string) (Parsed, []Problem) {
	p := parser{table: t, argv: argv}
	p.run()
	p.checkRequired()
	return Parsed{Args: p.args}, p.problems
}

type parser struct {
	table    *Table
	argv     []string
	at       int
	args     []Arg
	problems []Problem
	stray    bool // the one positional argument was seen
}

func (p *parser) run() {
	for p.at < len(p.argv) {
		word := p.argv[p.at]
		switch {
		case word == "--":
			for p.at++; p.at < len(p.argv); {
				p.positional()
			}
		case p.table.isOption(word):
			p.option(word)
		default:
			p.positional()
		}
	}
}

// positional takes the model of "vllm serve MODEL"; everything else is stray.
func (p *parser) positional() {
	word := p.argv[p.at]
	a := Arg{Values: []string{word}, Index: p.at, Len: 1}
	if p.table.Engine == "vllm" && !p.stray {
		p.stray = true
		a.Flag = p.table.Flag("--model")
	} else {
		p.report(Problem{Kind: StrayArgument, Flag: word, Index: p.at,
			Text: fmt.Sprintf("%q belongs to no flag", word)})
	}
	p.args = append(p.args, a)
	p.at++
}

func (p *parser) option(word string) {
	a := Arg{Index: p.at}
	r := p.table.resolve(word)
	a.Flag, a.Name, a.Path = r.flag, r.name, r.path
	start := p.at
	p.at++
	switch {
	case len(r.candidates) > 1:
		p.report(Problem{Kind: AmbiguousFlag, Flag: r.name, Index: start, Near: r.candidates,
			Text: fmt.Sprintf("%s could be %s", r.name, strings.Join(r.candidates, " or "))})
		a.Values = p.values(r, "*")
	case r.flag == nil:
		problem := p.table.unknown(r.name)
		problem.Index = start
		p.report(problem)
		a.Values = p.values(r, "*")
	case r.flag.Switch():
		a.Values = p.switched(r, start)
	default:
		a.Values = p.values(r, r.flag.Nargs)
		p.checkValues(a, r)
	}
	if r.flag != nil && r.flag.Deprecated {
		p.report(deprecated(r, start))
	}
	a.Len = p.at - start
	p.args = append(p.args, a)
}

func (p *parser) switched(r resolved, start int) []string {
	if r.hasValue {
		p.report(Problem{Kind: BadValue, Flag: r.name, Index: start,
			Text: fmt.Sprintf("%s takes no value, got %q", r.name, r.value)})
	}
	return []string{r.flag.on(r.full)}
}

// values takes what nargs allows: the part behind "=", or the following
// elements up to the next option.
func (p *parser) values(r resolved, nargs string) []string {
	if r.hasValue {
		return []string{r.value}
	}
	limit := 1
	if nargs == "*" || nargs == "+" {
		limit = len(p.argv)
	}
	start := p.at
	for p.at < len(p.argv) && p.at-start < limit && p.argv[p.at] != "--" && !p.table.isOption(p.argv[p.at]) {
		p.at++
	}
	return p.argv[start:p.at]
}

func (p *parser) checkValues(a Arg, r resolved) {
	f := r.flag
	if len(a.Values) == 0 {
		if f.Nargs == "" || f.Nargs == "+" {
			p.report(Problem{Kind: MissingValue, Flag: r.name, Index: a.Index, Text: r.name + " needs a value"})
		}
		return
	}
	if a.Path != "" {
		return // one part of a JSON value
	}
	for _, v := range a.Values {
		if strings.Contains(v, "$") {
			continue // not expanded: the value is not known here
		}
		if !fits(f.Type, v) {
			p.report(Problem{Kind: BadValue, Flag: r.name, Index: a.Index,
				Text: fmt.Sprintf("%s wants %s, got %q", r.name, f.Type, v)})
			continue
		}
		if len(f.Choices) > 0 && !slices.Contains(f.Choices, v) {
			p.report(Problem{Kind: BadChoice, Flag: r.name, Index: a.Index, Near: Near(v, f.Choices),
				Text: fmt.Sprintf("%s %s: %s allows %s", r.name, v, p.table.release(), strings.Join(f.Choices, ", "))})
		}
	}
}

// fits checks the two converters whose rules are plain Python; the others are
// the engines' own.
func fits(kind, v string) bool {
	v = strings.ReplaceAll(strings.TrimSpace(v), "_", "") // Python allows 1_000
	switch kind {
	case "int":
		_, err := strconv.ParseInt(v, 10, 64)
		return err == nil
	case "float":
		_, err := strconv.ParseFloat(v, 64)
		return err == nil
	}
	return true
}

// checkRequired reports required flags that are missing. A configuration file
// can give them too.
func (p *parser) checkRequired() {
	given := func(setting string) bool {
		return slices.ContainsFunc(p.args, func(a Arg) bool { return a.Setting() == setting })
	}
	if given("config") {
		return
	}
	for _, f := range p.table.flags {
		if f.Required && !given(f.Setting) {
			p.report(Problem{Kind: MissingFlag, Flag: f.Name(), Index: -1, Text: f.Name() + " is required"})
		}
	}
}

func (p *parser) report(problem Problem) { p.problems = append(p.problems, problem) }

// resolved is what one option element names.
type resolved struct {
	flag       *Flag
	name       string // as written, without value
	full       string // the full spelling, when it was abbreviated
	path       string
	value      string // behind "="
	hasValue   bool
	candidates []string // flags that an ambiguous abbreviation could mean
}

// negative is argparse's idea of a negative number, which is a value.
var negative = regexp.MustCompile(`^-\d+$|^-\d*\.\d+$`)

// isOption classifies an element as argparse does.
func (t *Table) isOption(word string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	if r := t.resolve(word); r.flag != nil || len(r.candidates) > 1 {
		return true
	}
	return !negative.MatchString(word) && !strings.Contains(word, " ")
}

func (t *Table) resolve(word string) resolved {
	if f := t.byName[word]; f != nil {
		return resolved{flag: f, name: word, full: word}
	}
	r := resolved{name: word}
	r.name, r.value, r.hasValue = strings.Cut(word, "=")
	if t.Engine == "vllm" && t.optimisation(&r) {
		return r
	}
	var base string
	base, r.path = t.split(r.name)
	if f := t.byName[base]; f != nil {
		r.flag, r.full = f, base
		return r
	}
	t.abbreviation(&r, base)
	return r
}

// optimisation reads vLLM's -O3, -O 3 and -O.level=3. Its parser rewrites them
// before argparse sees them.
func (t *Table) optimisation(r *resolved) bool {
	rest, ok := strings.CutPrefix(r.name, "-O")
	if !ok {
		return false
	}
	target := "--optimization-level"
	if strings.HasPrefix(rest, ".") || t.byName[target] == nil {
		target = "--compilation-config"
	}
	if t.byName[target] == nil {
		return false
	}
	r.flag, r.full = t.byName[target], target
	switch {
	case strings.HasPrefix(rest, "."):
		r.name, r.path = "-O", rest
	case rest != "":
		r.name, r.value, r.hasValue = "-O", rest, true
	}
	return true
}

// abbreviation finds the flags that base is a prefix of; one is a match. A
// short flag may have its value glued on ("-tp8").
func (t *Table) abbreviation(r *resolved, base string) {
	if !strings.HasPrefix(base, "--") {
		t.glued(r)
		return
	}
	if len(base) < 4 {
		return
	}
	var flag *Flag
	for _, f := range t.flags {
		for _, n := range f.Names {
			if !strings.HasPrefix(n, base) || f == flag {
				continue
			}
			r.candidates = append(r.candidates, n)
			flag, r.full = f, n
		}
	}
	if len(r.candidates) == 1 {
		r.flag = flag
		return
	}
	slices.Sort(r.candidates)
	r.full = ""
}

// glued reads "-q" with its value attached, as argparse does for one-letter
// flags.
func (t *Table) glued(r *resolved) {
	if len(r.name) < 3 || r.hasValue {
		return
	}
	short := r.name[:2]
	f := t.byName[short]
	if f == nil || f.Switch() {
		return
	}
	r.flag, r.full, r.value, r.hasValue = f, short, r.name[2:], true
	r.name = short
}

func deprecated(r resolved, index int) Problem {
	text := r.name + " is deprecated"
	if r.flag.ignored() {
		text += " and has no effect"
	}
	if r.flag.ReplacedBy != "" {
		text += ": use " + r.flag.ReplacedBy
	}
	return Problem{Kind: DeprecatedFlag, Flag: r.name, Index: index, Text: text, Use: r.flag.ReplacedBy}
}

// release names the table in messages.
func (t *Table) release() string {
	if t.Version == "" {
		return "this parser"
	}
	return t.Engine + " " + t.Version
}
