package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/knowledge"
	"shakedown/internal/launch"
	"shakedown/internal/ledger"
	"shakedown/internal/planner"
	"shakedown/internal/rewrite"
)

// judge has the n-th launch judged and emits its messages.
func (r *run) judge(n int, l *launch.Launch) {
	if r.err != nil {
		return
	}
	book := ledger.Build(l, ledger.Told{Command: r.opt.Command, Flags: r.opt.Flags})
	j := r.base.Judge(knowledge.Input{Launch: l, Ledger: book})
	temper(l, book, j)
	remedies := &rewrite.Rewriter{Command: r.commandOf(l), Book: book, Engine: l.EngineName(), Version: l.Version}
	if l.Engine != nil {
		remedies.Names = l.Engine.Names
	}
	lm := launchMessage(n, l, book, j, r.opt.Command)
	r.res.Last = verdictOf(l, j)
	r.emit(lm)
	if j.Symptom != nil {
		j.Symptom.Launch = n
		r.emit(j.Symptom)
	}
	for _, f := range j.Findings {
		f.Launch = n
		remedies.Correct(f)
		remedies.Fill(f)
		r.res.Findings++
		r.emit(f)
	}
	for _, m := range j.NotIt {
		m.Launch = n
		r.emit(m)
	}
	predicted := planner.Predict(l, r.commandOf(l))
	for _, m := range book.Messages(true) {
		m.Launch = n
		predict(m, predicted)
		r.emit(m)
	}
	for _, d := range l.Drifts() {
		r.emit(&finding.DriftMsg{Launch: n, ID: d.ID, Count: d.Count, File: d.Pos.File, Line: d.Pos.Line, Text: d.Text})
	}
	for _, m := range j.Unexplained {
		m.Launch = n
		r.emit(m)
	}
}

// predict sets beside a setting what the engine's own rules give for it. A value
// that differs is a sign of an unknown version or a patch; one that leaves the
// choice open was printed before it was made.
func predict(m *finding.SettingMsg, predicted map[string]string) {
	v, ok := predicted[m.Name]
	if !ok {
		return
	}
	m.Predicted = v
	m.Contradicts = !ledger.Open(m.Effective) && !ledger.Same(m.Effective, v)
}

// emit hands a message out, without the keys and passwords that a quoted line,
// a value or the name of a file may hold: those reach no output, redacted or not.
func (r *run) emit(m finding.Message) {
	r.secrets.Message(m)
	if r.err == nil {
		r.err = r.h.Handle(m)
	}
}

func (r *run) commandOf(l *launch.Launch) *command.Command {
	if r.opt.Command != nil {
		return r.opt.Command
	}
	c, _ := l.Command()
	return c
}

// temper lowers the confidence of findings on a version that is only near a
// known one: proven becomes likely.
func temper(l *launch.Launch, book *ledger.Ledger, j *knowledge.Judgement) {
	if l.Version == "" || book.Match.Fit != flags.NewerThanAll && book.Match.Fit != flags.OlderThanAll {
		return
	}
	for _, f := range j.Findings {
		if f.Confidence == finding.Proven {
			f.Confidence = finding.Likely
			f.Basis = strings.TrimSpace(f.Basis + " (" + book.Match.Note + ")")
		}
	}
}

func verdictOf(l *launch.Launch, j *knowledge.Judgement) Verdict {
	var root *finding.FindingMsg
	for _, f := range j.Findings {
		if f.Severity != finding.Info {
			root = f
			break
		}
	}
	switch {
	case root == nil && (l.Outcome == finding.OK || len(j.Findings) > 0):
		return Healthy
	case root == nil, root.Cause == "unclear", root.Confidence == finding.Possible && l.Outcome != finding.OK && root.ID == "GEN-EXC-UNKNOWN":
		return CantTell
	case l.Outcome == finding.OK && root.Confidence == finding.Possible:
		return Healthy
	}
	return Problem
}

func launchMessage(n int, l *launch.Launch, book *ledger.Ledger, j *knowledge.Judgement, given *command.Command) *finding.LaunchMsg {
	m := &finding.LaunchMsg{
		N: n, Engine: l.EngineName(), EngineVersion: l.Version, Outcome: l.Outcome, Phase: string(l.Phase),
		Model: l.Facts.First(fact.Model), Hardware: hardware(l), Parallel: parallel(l), Missing: l.Missing,
		FirstLine: l.Files[0].First, LastLine: l.Files[0].Last, ErrorLines: l.ErrorLines, Following: j.Following,
	}
	m.VersionExact = l.Version != "" && l.VersionNote == "" && (book.Match.Fit == flags.Exact || book.Match.Fit == flags.NoTable)
	if !m.VersionExact {
		m.VersionNote = cmp.Or(l.VersionNote, book.Match.Note)
	}
	for _, f := range l.Files {
		m.Files = append(m.Files, f.Name)
	}
	cmd, pos := l.Command()
	if given != nil {
		cmd = given
	}
	if cmd != nil {
		safe := cmd.Redacted()
		m.Command = safe.Argv()
		for _, v := range safe.Env {
			m.Env = append(m.Env, finding.Pair{Name: v.Name, Value: v.Value.Text})
		}
		if pos.Line > 0 && given == nil {
			m.CommandFrom = &finding.Evidence{Kind: "log", File: pos.File, Line: pos.Line}
		}
	}
	m.Milestones = milestones(l)
	m.NextMissing = nextMissing(l)
	m.Ranks = ranks(l)
	for _, f := range l.Facts.All() {
		if f.Key == fact.Mismatch || f.Key == fact.MissingNode {
			continue
		}
		m.Facts = append(m.Facts, finding.FactEntry{Key: string(f.Key), Value: f.Value, Unit: f.Unit, File: f.Pos.File, Line: f.Pos.Line})
	}
	m.Verdict = verdictWords(l, j)
	return m
}

func verdictWords(l *launch.Launch, j *knowledge.Judgement) string {
	switch l.Outcome {
	case finding.OK:
		for _, f := range j.Findings {
			if f.Severity != finding.Info && f.Confidence != finding.Possible {
				return "ready, with a latent fault"
			}
		}
		if l.StopSeq >= 0 {
			return "healthy, stopped from outside"
		}
		if l.Served == 0 {
			return "healthy start; no request was served"
		}
		return "healthy"
	case finding.Stopped:
		return "stopped from outside"
	case finding.Stalled:
		return "stopped without a trace"
	case finding.ReadyThenFailed:
		return "failed after ready" + when(l)
	}
	return "failed before ready"
}

// when says how far the service had come when it failed.
func when(l *launch.Launch) string {
	switch l.Answered {
	case 0:
		return ", before it answered a request"
	case 1:
		return ", after one answered request"
	}
	return fmt.Sprintf(", after %d answered requests", l.Answered)
}

func hardware(l *launch.Launch) string {
	name, count, sm := l.Facts.Value(fact.GPUName), l.Facts.Value(fact.GPUCount), l.Facts.Value(fact.GPUSM)
	if name == "" && sm != "" {
		name = "SM " + sm
	} else if sm != "" {
		name += " (SM " + sm + ")"
	}
	if device := l.Facts.Value(fact.Device); name == "" && device != "cuda" && device != "auto" {
		name = device // cuda names no GPU, and ROCm answers to it too
	}
	if count != "" && count != "1" && name != "" {
		return count + "x " + name
	}
	return name
}

func parallel(l *launch.Launch) string {
	var parts []string
	for _, p := range []struct {
		name string
		key  fact.Key
	}{{"tp", fact.TP}, {"pp", fact.PP}, {"dp", fact.DP}, {"ep", fact.EP}, {"nodes", fact.Nodes}} {
		if v := l.Facts.Value(p.key); v != "" && v != "1" {
			parts = append(parts, p.name+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}

// milestones lists each milestone once, at its first occurrence.
func milestones(l *launch.Launch) []finding.Milestone {
	var out []finding.Milestone
	seen := make(map[string]bool)
	start := l.Files[0].Start
	for i := range l.Milestones {
		ms := &l.Milestones[i]
		if seen[ms.Line.Name] {
			continue
		}
		seen[ms.Line.Name] = true
		m := finding.Milestone{Name: ms.Line.Name, Phase: string(ms.Phase), File: ms.Pos.File, Line: ms.Pos.Line, Seconds: -1}
		if d, ok := ms.Time.Sub(start); ok && d >= 0 {
			m.Seconds = d
		}
		for _, k := range slices.Sorted(maps.Keys(ms.Caps)) {
			m.Detail += fmt.Sprintf("%s=%s ", k, ms.Caps[k])
		}
		m.Detail = strings.TrimSpace(m.Detail)
		out = append(out, m)
	}
	return out
}

// nextMissing is the first milestone of a healthy start that did not come,
// after the last one that did.
func nextMissing(l *launch.Launch) string {
	if l.Engine == nil || l.ReadySeq >= 0 {
		return ""
	}
	reached := -1
	for i, name := range l.Engine.Milestones {
		if hasMilestone(l, strings.TrimSuffix(name, "?")) {
			reached = i
		}
	}
	for _, name := range l.Engine.Milestones[reached+1:] {
		if !strings.HasSuffix(name, "?") {
			return name
		}
	}
	return ""
}

func hasMilestone(l *launch.Launch, name string) bool {
	return slices.ContainsFunc(l.Milestones, func(m launch.Milestone) bool { return m.Line.Name == name })
}

// ranks lists the last milestone of each process, when there are several.
func ranks(l *launch.Launch) []finding.RankState {
	type key struct{ file, proc string }
	last := make(map[key]launch.Milestone)
	var order []key
	for _, m := range l.Milestones {
		if m.Proc == "" && len(l.Files) == 1 {
			continue
		}
		k := key{m.Pos.File, m.Proc}
		if _, ok := last[k]; !ok {
			order = append(order, k)
		}
		last[k] = m
	}
	if len(order) < 2 && len(l.Files) == 1 {
		return nil
	}
	var out []finding.RankState
	for _, k := range order {
		m := last[k]
		s := finding.RankState{File: k.file, Rank: k.proc, Last: m.Line.Name, Line: m.Pos.Line}
		if f := l.File(k.file); f != nil {
			if s.Rank == "" {
				s.Rank = f.Role
			}
			s.Ended = f.Ended
		}
		out = append(out, s)
	}
	for _, f := range l.Files {
		if len(l.Files) > 1 && !slices.ContainsFunc(order, func(k key) bool { return k.file == f.Name }) {
			out = append(out, finding.RankState{File: f.Name, Rank: f.Role, Last: "no milestone", Line: f.Last, Ended: f.Ended})
		}
	}
	for _, name := range l.Missing {
		out = append(out, finding.RankState{Rank: name, Last: "log not given"})
	}
	return out
}
