package explain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"shakedown/internal/engine/all"
	"shakedown/internal/finding"
	"shakedown/internal/knowledge"
	"shakedown/internal/knowledge/rules"
	"shakedown/internal/launch"
	"shakedown/internal/ledger"
	"shakedown/internal/logstream"
)

// RuleResult is the outcome of one fixture of a rule.
type RuleResult struct {
	Rule    string
	File    string
	Problem string // "" when the fixture did what its name says
}

// TestRules runs the fixtures of every rule in fsys: testdata/hit*.log must
// make the rule a finding (a cause: the root, except in hit-also*.log),
// testdata/miss*.log must not (a suspect may apply there, if it is not kept).
// hit*.json and miss*.json are launches that were not started, see plannedCase.
// A rule without both kinds has a problem too.
// The built-in rules are loaded beside those of fsys, unless fsys holds them.
func TestRules(ctx context.Context, fsys fs.FS) ([]RuleResult, error) {
	own, err := knowledge.Load(fsys)
	base := own
	if err != nil {
		var both error
		if base, both = knowledge.Load(rules.FS, fsys); errors.Is(both, knowledge.ErrTaken) {
			return nil, err // fsys is the built-in rules: their own problems are the ones to tell
		} else if both != nil {
			return nil, both
		}
		own = base
	}
	index, err := launch.NewIndex(all.List, base.Watches())
	if err != nil {
		return nil, err
	}
	var out []RuleResult
	for _, r := range own.Rules() {
		if own == base && r.Builtin && !hasRule(fsys, r) {
			continue
		}
		res, err := testRule(ctx, fsys, r, base, index)
		if err != nil {
			return out, err
		}
		out = append(out, res...)
	}
	return out, nil
}

func hasRule(fsys fs.FS, r *knowledge.Rule) bool {
	_, err := fs.Stat(fsys, path.Join(r.Dir, "rule.yaml"))
	return err == nil
}

func testRule(ctx context.Context, fsys fs.FS, r *knowledge.Rule, base *knowledge.Base, index *launch.Index) ([]RuleResult, error) {
	files, err := fixtures(fsys, path.Join(r.Dir, "testdata"))
	if err != nil {
		return nil, err
	}
	var out []RuleResult
	hits, misses := 0, 0
	for _, f := range files {
		sources, err := fixtureSources(fsys, f) // none for a launch that was not started
		if err != nil {
			return nil, err
		}
		name := path.Base(f)
		res := RuleResult{Rule: r.ID, File: f}
		switch {
		case path.Ext(name) == plannedExt:
			hit, err := foreseeFixture(fsys, f, r, base)
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(name, "hit") {
				hits++
			} else {
				misses++
			}
			if want := strings.HasPrefix(name, "hit"); hit != want {
				res.Problem = fmt.Sprintf("foreseen before the launch: %v, want %v", hit, want)
			}
		case strings.HasPrefix(name, "hit"):
			hits++
			res.Problem = shouldHit(ctx, r, name, sources, base, index)
		case strings.HasPrefix(name, "miss"):
			misses++
			if found, _ := judgeFixture(ctx, r, sources, base, index); found.kept || found.any && r.Role != knowledge.Suspect {
				res.Problem = "the rule applies and should not"
			}
		default:
			res.Problem = "a fixture is named hit*.log or miss*.log"
		}
		out = append(out, res)
	}
	if hits == 0 || misses == 0 {
		out = append(out, RuleResult{Rule: r.ID, File: r.Dir, Problem: "needs at least one hit and one miss fixture"})
	}
	return out, nil
}

// seen says how a rule showed up in a fixture.
type seen struct {
	any  bool // it applied
	kept bool // it is a finding, the symptom or an exonerated line
	root bool
}

func shouldHit(ctx context.Context, r *knowledge.Rule, name string, sources []logstream.Source, base *knowledge.Base, index *launch.Index) string {
	s, ids := judgeFixture(ctx, r, sources, base, index)
	switch {
	case !s.any:
		return "the rule does not apply; found: " + ids
	case !s.kept:
		return "the rule applies and is dropped; found: " + ids
	case r.Role == knowledge.Cause && !s.root && !strings.HasPrefix(name, "hit-also"):
		return "the rule is not the root cause; found: " + ids
	}
	return ""
}

// fixtures lists the fixtures of one rule: files, and folders whose files are
// the nodes of one launch.
func fixtures(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if ext := path.Ext(e.Name()); e.IsDir() || ext == ".log" || ext == plannedExt {
			out = append(out, path.Join(dir, e.Name()))
		}
	}
	return out, nil
}

func fixtureSources(fsys fs.FS, fixture string) ([]logstream.Source, error) {
	files := []string{fixture}
	switch path.Ext(fixture) {
	case plannedExt:
		return nil, nil
	case ".log":
	default:
		var err error
		if files, err = fs.Glob(fsys, path.Join(fixture, "*.log")); err != nil {
			return nil, err
		}
	}
	var out []logstream.Source
	for _, f := range files {
		data, err := fs.ReadFile(fsys, f)
		if err != nil {
			return nil, err
		}
		out = append(out, logstream.Source{Name: path.Base(f), Size: int64(len(data)), Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}})
	}
	return out, nil
}

func judgeFixture(ctx context.Context, r *knowledge.Rule, sources []logstream.Source, base *knowledge.Base, index *launch.Index) (seen, string) {
	var s seen
	var ids []string
	var held []*launch.Launch
	for _, src := range sources {
		b := launch.NewWriters(index, src.Name, launch.Told{}, func(l *launch.Launch) { held = append(held, l) })
		if err := scan(ctx, src, index, b); err != nil {
			ids = append(ids, err.Error())
		}
	}
	for _, one := range launch.Join(held) {
		j := base.Judge(knowledge.Input{Launch: one, Ledger: ledger.Build(one, ledger.Told{})})
		s.note(r, j)
		ids = append(ids, fmt.Sprintf("[%s]", one.Outcome))
		for _, f := range j.Findings {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) == 0 {
		ids = []string{"no launch"}
	}
	return s, strings.Join(ids, " ")
}

func (s *seen) note(r *knowledge.Rule, j *knowledge.Judgement) {
	if slices.Contains(j.Applied, r.ID) {
		s.any = true
	}
	for i, f := range j.Findings {
		if f.ID == r.ID {
			s.kept = true
			s.root = s.root || i == 0
		}
	}
	if r.Role == knowledge.Symptom && s.any {
		s.kept = true
	}
	if slices.ContainsFunc(j.NotIt, func(m *finding.NotItMsg) bool { return m.ID == r.ID }) {
		s.kept = true
	}
}
