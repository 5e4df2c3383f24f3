package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/launch"
	"shakedown/internal/match"
)

// Role is the part a rule plays; see the package comment.
type Role string

// Roles of rules.
const (
	Cause       Role = "cause"
	Latent      Role = "latent"
	Suspect     Role = "suspect"
	Symptom     Role = "symptom"
	Consequence Role = "consequence"
	Exonerate   Role = "exonerate"
)

// Line selects log lines.
type Line struct {
	Anchor string   `yaml:"anchor"`
	Regex  string   `yaml:"regex"`
	In     []string `yaml:"in"`
	Phase  []string `yaml:"phase"`
	Note   string   `yaml:"note"` // why this line matters, shown beside the evidence
}

// Cond is one condition; exactly one of its subjects is set.
type Cond struct {
	Fact    string   `yaml:"fact"`
	Setting string   `yaml:"setting"`
	Asked   string   `yaml:"asked"`
	Outcome []string `yaml:"outcome"`
	Phase   []string `yaml:"phase"`
	Capture string   `yaml:"capture"`
	Version string   `yaml:"version"`
	Check   string   `yaml:"check"`

	Is    *string  `yaml:"is"`
	In    []string `yaml:"in"`
	Not   []string `yaml:"not"`
	Above any      `yaml:"above"` // number, or the name of a capture
	Below any      `yaml:"below"`
}

// Strengthen replaces a rule's confidence when its conditions hold.
type Strengthen struct {
	When       []Cond             `yaml:"when"`
	Confidence finding.Confidence `yaml:"confidence"`
	Basis      string             `yaml:"basis"`
}

// Remedy is a change of the launch, or something else to do.
type Remedy struct {
	Title   string            `yaml:"title"`
	Set     map[string]string `yaml:"set"`
	Unset   []string          `yaml:"unset"`
	Env     map[string]string `yaml:"env"`
	Price   string            `yaml:"price"`
	Text    string            `yaml:"text"`
	Decides []string          `yaml:"decides"`
	When    []Cond            `yaml:"when"`
	Engines []string          `yaml:"engines"` // missing: every engine of the rule
}

// Rule is one documented failure pattern. It is immutable after loading.
type Rule struct {
	ID         string             `yaml:"id"`
	Title      string             `yaml:"title"`
	Why        string             `yaml:"why"`
	Cause      string             `yaml:"cause"`
	Severity   finding.Severity   `yaml:"severity"`
	Role       Role               `yaml:"role"`
	Confidence finding.Confidence `yaml:"confidence"`
	Basis      string             `yaml:"basis"`
	Engines    map[string]string  `yaml:"engines"`
	Since      string             `yaml:"since"`
	Lines      []Line             `yaml:"lines"`
	Also       []Line             `yaml:"also"`
	Not        []Line             `yaml:"not"`
	Frames     []string           `yaml:"frames"`
	NoFrames   []string           `yaml:"no_frames"`
	When       []Cond             `yaml:"when"`
	Strengthen []Strengthen       `yaml:"strengthen"`
	Plan       []Strengthen       `yaml:"plan"`
	DependsOn  []string           `yaml:"depends_on"`
	Explains   []string           `yaml:"explains"`
	Remedies   []Remedy           `yaml:"remedies"`
	Decide     []string           `yaml:"decide"`
	Sources    []string           `yaml:"sources"`

	Dir     string `yaml:"-"` // folder in the file system that it was read from
	Builtin bool   `yaml:"-"`

	ranges map[string]flags.Range
}

// Generic rules (GEN-EXC-*) name an exception by its type; every specific rule
// beats them on the same exception.
func (r *Rule) Generic() bool { return strings.HasPrefix(r.ID, "GEN-EXC-") }

// accuses: the rule names a culprit with some confidence, so a line that is
// known to be harmless is no evidence for it.
func (r *Rule) accuses() bool {
	return r.Confidence != finding.Possible && (r.Role == Cause || r.Role == Suspect || r.Role == Consequence)
}

// group tells which list of a rule a watch belongs to.
type group uint8

const (
	inLines group = iota
	inAlso
	inNot
)

// slot ties a watch to its rule.
type slot struct {
	rule  *Rule
	group group
	index int
}

// Base is a set of rules, ready to judge. It is immutable and may be used from
// several goroutines.
type Base struct {
	rules   []*Rule
	byID    map[string]*Rule
	watches []*launch.Watch
}

// Rules lists the rules by id.
func (b *Base) Rules() []*Rule { return b.rules }

// Rule returns the rule of that id.
func (b *Base) Rule(id string) (*Rule, bool) {
	r, ok := b.byID[id]
	return r, ok
}

// Watches are the lines that the rules ask for, to be put in a launch.Index.
func (b *Base) Watches() []*launch.Watch { return b.watches }

// ruleFile is the name of a rule's file; maxRule bounds it.
const (
	ruleFile = "rule.yaml"
	maxRule  = 64 << 10
)

// ErrTaken says that two rules have the same id.
var ErrTaken = errors.New("the id is taken")

// Load reads every rule folder of the given file systems (the embedded rules
// first, then a user's own). Errors name file and problem; all problems of all
// rules are reported at once.
func Load(systems ...fs.FS) (*Base, error) {
	b := &Base{byID: make(map[string]*Rule)}
	var problems []error
	for n, fsys := range systems {
		paths, err := rulePaths(fsys)
		if err != nil {
			return nil, err
		}
		rules, errs := readRules(fsys, paths)
		for i, p := range paths {
			if errs[i] != nil {
				problems = append(problems, fmt.Errorf("%s: %w", p, errs[i]))
				continue
			}
			r := rules[i]
			r.Builtin = n == 0
			if other, dup := b.byID[r.ID]; dup {
				problems = append(problems, fmt.Errorf("%s: %w: %s by %s", p, ErrTaken, r.ID, other.Dir))
				continue
			}
			b.byID[r.ID] = r
			b.rules = append(b.rules, r)
		}
	}
	slices.SortFunc(b.rules, func(x, y *Rule) int { return cmp.Compare(x.ID, y.ID) })
	for _, r := range b.rules {
		problems = append(problems, b.link(r)...)
	}
	problems = append(problems, b.cycles()...)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return b, nil
}

// rulePaths lists the rule files of a file system in the order of its walk.
func rulePaths(fsys fs.FS) ([]string, error) {
	var paths []string
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() == ruleFile {
			paths = append(paths, p)
		}
		return err
	})
	return paths, err
}

// readRules reads rule files, several at a time; rules and errors have the
// places of their paths.
func readRules(fsys fs.FS, paths []string) ([]*Rule, []error) {
	rules, errs := make([]*Rule, len(paths)), make([]error, len(paths))
	readers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for first := range readers {
		wg.Go(func() {
			for i := first; i < len(paths); i += readers {
				rules[i], errs[i] = readRule(fsys, paths[i])
			}
		})
	}
	wg.Wait()
	return rules, errs
}

func readRule(fsys fs.FS, p string) (*Rule, error) {
	data, err := fs.ReadFile(fsys, p)
	if err != nil {
		return nil, err
	}
	r, ok := compactRule(data)
	if !ok {
		if r, err = ParseRule(data); err != nil {
			return nil, err
		}
	}
	r.Dir = path.Dir(p)
	if base := path.Base(r.Dir); base != r.ID && r.Dir != "." {
		return nil, fmt.Errorf("the folder is named %s, the rule %s", base, r.ID)
	}
	return r, nil
}

// ParseRule reads one rule.yaml strictly: unknown keys, unknown classes, bad
// expressions and missing documentation are errors.
func ParseRule(data []byte) (*Rule, error) {
	if len(data) > maxRule {
		return nil, fmt.Errorf("rule of %d bytes, the limit is %d", len(data), maxRule)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	r := new(Rule)
	if err := dec.Decode(r); err != nil {
		return nil, err
	}
	if err := dec.Decode(new(Rule)); !errors.Is(err, io.EOF) {
		return nil, errors.New("a rule file holds one document")
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}

var idForm = regexp.MustCompile(`^(GEN|SGL|VLLM|LCPP|TRT|LMD|USR)-[A-Z0-9]+(-[0-9]{3})?$`)

func (r *Rule) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !idForm.MatchString(r.ID) {
		bad("id %q: want ENGINE-AREA-NNN with ENGINE one of GEN, SGL, VLLM, LCPP, TRT, LMD, USR", r.ID)
	}
	if r.Title == "" || r.Why == "" {
		bad("title and why are required")
	}
	if classByName[r.Cause] == nil {
		bad("cause %q is no class: want one of %s", r.Cause, strings.Join(classNames(), ", "))
	}
	if !slices.Contains([]finding.Severity{finding.Error, finding.Warning, finding.Info}, r.Severity) {
		bad("severity %q: want error, warning or info", r.Severity)
	}
	if !slices.Contains([]Role{Cause, Latent, Suspect, Symptom, Consequence, Exonerate}, r.Role) {
		bad("role %q: want cause, latent, suspect, symptom, consequence or exonerate", r.Role)
	}
	if r.Confidence.Rank() == 0 {
		bad("confidence %q: want proven, likely or possible", r.Confidence)
	}
	if len(r.Lines) == 0 && len(r.When) == 0 && len(r.Plan) == 0 {
		bad("a rule needs lines, when or plan")
	}
	for _, list := range [][]Line{r.Lines, r.Also, r.Not} {
		for _, l := range list {
			if err := l.check(); err != nil {
				errs = append(errs, err)
			}
		}
	}
	errs = append(errs, checkConds(r.When)...)
	for _, s := range r.Strengthen {
		errs = append(errs, checkConds(s.When)...)
		if s.Confidence.Rank() == 0 {
			bad("strengthen: confidence %q", s.Confidence)
		}
	}
	errs = append(errs, r.checkPlan()...)
	for _, m := range r.Remedies {
		errs = append(errs, checkConds(m.When)...)
		if m.Title == "" {
			bad("a remedy needs a title")
		}
		for f := range m.Set {
			if !strings.HasPrefix(f, "-") {
				bad("remedy %q: set %q is no flag", m.Title, f)
			}
		}
	}
	for name := range r.Engines {
		if !slices.Contains(engineNames, name) {
			bad("engines: %q: want one of %s", name, strings.Join(engineNames, ", "))
		}
	}
	return errors.Join(append(errs, r.readRanges())...)
}

// readRanges reads the versions of the engines that the rule is about.
func (r *Rule) readRanges() error {
	var errs []error
	r.ranges = make(map[string]flags.Range, len(r.Engines))
	for name, expr := range r.Engines {
		rg, err := flags.ParseRange(expr)
		if err != nil {
			errs = append(errs, fmt.Errorf("engines: %s: %w", name, err))
			continue
		}
		r.ranges[name] = rg
	}
	return errors.Join(errs...)
}

// engineNames are the engines that a rule may be about.
var engineNames = []string{"sglang", "vllm", "llamacpp", "trtllm", "lmdeploy"}

// minAnchor keeps anchors selective; a short frequent one costs speed for every
// log.
const minAnchor = 6

func (l Line) check() error {
	if len(l.Anchor) < minAnchor {
		return fmt.Errorf("anchor %q: want at least %d bytes", l.Anchor, minAnchor)
	}
	if _, err := launch.ParseWhere(l.In); err != nil {
		return err
	}
	if l.Regex != "" {
		if err := match.CheckRegexp(l.Regex); err != nil {
			return fmt.Errorf("anchor %q: %w", l.Anchor, err)
		}
	}
	for _, p := range l.Phase {
		if fact.Phase(p).Order() < 0 {
			return fmt.Errorf("anchor %q: phase %q", l.Anchor, p)
		}
	}
	return nil
}

func checkConds(conds []Cond) []error {
	var errs []error
	for _, c := range conds {
		n := 0
		for _, set := range []bool{c.Fact != "", c.Setting != "", c.Asked != "", len(c.Outcome) > 0, len(c.Phase) > 0, c.Capture != "", c.Version != "", c.Check != ""} {
			if set {
				n++
			}
		}
		if n != 1 {
			errs = append(errs, fmt.Errorf("a condition needs exactly one subject, got %d", n))
		}
		errs = append(errs, c.check()...)
		if c.Check != "" && checks[c.Check] == nil {
			errs = append(errs, fmt.Errorf("check %q is unknown", c.Check))
		}
		if c.Version != "" {
			if _, err := flags.ParseRange(c.Version); err != nil {
				errs = append(errs, fmt.Errorf("version: %w", err))
			}
		}
	}
	return errs
}

// check finds values that could never hold, and subjects without a comparison.
func (c *Cond) check() []error {
	var errs []error
	compares := c.Is != nil || len(c.In) > 0 || len(c.Not) > 0 || c.Above != nil || c.Below != nil
	if subject := c.Fact + c.Setting + c.Asked + c.Capture; subject != "" && !compares {
		errs = append(errs, fmt.Errorf("condition on %s: want is, in, not, above or below", subject))
	}
	if c.Fact != "" && !slices.Contains(fact.Keys, fact.Key(c.Fact)) {
		errs = append(errs, fmt.Errorf("condition on the unknown fact %q", c.Fact))
	}
	for _, o := range c.Outcome {
		if !slices.Contains(outcomes, finding.Outcome(o)) {
			errs = append(errs, fmt.Errorf("condition on the unknown outcome %q", o))
		}
	}
	for _, p := range c.Phase {
		if fact.Phase(p).Order() < 0 {
			errs = append(errs, fmt.Errorf("condition on the unknown phase %q", p))
		}
	}
	for _, v := range []any{c.Above, c.Below} {
		switch v.(type) {
		case nil, int, float64, string:
		default:
			errs = append(errs, fmt.Errorf("above and below want a number or the name of a capture, got %v", v))
		}
	}
	return errs
}

var outcomes = []finding.Outcome{finding.OK, finding.Failed, finding.ReadyThenFailed, finding.Stalled, finding.Stopped}

// link compiles a rule's lines to watches and checks the ids it names.
func (b *Base) link(r *Rule) []error {
	var errs []error
	lists := [][]string{r.DependsOn, r.Explains}
	for i := range r.Remedies {
		lists = append(lists, r.Remedies[i].Decides)
	}
	for _, ids := range lists {
		for _, id := range ids {
			if id == "symptom" {
				continue
			}
			if _, ok := b.byID[id]; !ok {
				errs = append(errs, fmt.Errorf("%s: names the unknown rule %s", r.ID, id))
			}
		}
	}
	for g, list := range [][]Line{r.Lines, r.Also, r.Not} {
		for i, l := range list {
			b.watches = append(b.watches, l.watch(r, group(g), i))
		}
	}
	return errs
}

func (l Line) watch(r *Rule, g group, i int) *launch.Watch {
	in, _ := launch.ParseWhere(l.In)
	w := &launch.Watch{ID: r.ID, Anchor: l.Anchor, In: in, For: slices.Sorted(maps.Keys(r.Engines)), Slot: slot{r, g, i}}
	if l.Regex != "" {
		w.Regex = match.NewRegexp(l.Regex)
	}
	for _, p := range l.Phase {
		w.Phases = append(w.Phases, fact.Phase(p))
	}
	return w
}

// cycles finds rules that stand above each other in a circle, by what they
// explain and by what they depend on.
func (b *Base) cycles() []error {
	const (
		open = 1
		done = 2
	)
	below := make(map[string][]string)
	for _, r := range b.rules {
		below[r.ID] = append(below[r.ID], r.Explains...)
		for _, id := range r.DependsOn {
			below[id] = append(below[id], r.ID)
		}
	}
	state := make(map[string]int)
	var errs []error
	var visit func(id string, trail []string)
	visit = func(id string, trail []string) {
		switch state[id] {
		case done:
			return
		case open:
			errs = append(errs, fmt.Errorf("rules explain each other in a circle: %s", strings.Join(append(trail, id), " -> ")))
			return
		}
		state[id] = open
		for _, next := range below[id] {
			visit(next, append(trail, id))
		}
		state[id] = done
	}
	for _, r := range b.rules {
		visit(r.ID, nil)
	}
	return errs
}
