package plan

import (
	"maps"
	"reflect"

	"shakedown/internal/flags"
)

// Settings holds an engine's settings while its steps run, and records who
// changed which. It belongs to one resolution and one goroutine.
type Settings struct {
	Choices []Choice
	Lines   []Line
	EnvSet  map[string]string // variables that the engine sets for itself

	values map[string]any
	parsed map[string]any  // as the argument parser left them
	asked  map[string]bool // written on the command line
	env    map[string]string
	step   Decision
	now    Decision
	open   int // first choice of the decision in progress
}

// Decision says why the changes that follow are made.
type Decision struct {
	ID      string   // stable id; empty: that of the step
	Source  string   // file and function; empty: that of the step
	By      string   // model, checkpoint, hardware, coupling, environment, default
	Because string   // the rule in plain words
	Coupled []string // settings that force these changes
}

// NewSettings begins with what the parser made of the command line, and with
// the environment of the launch. Neither map is changed.
func NewSettings(parsed Parsed, env map[string]string) *Settings {
	return &Settings{
		values: maps.Clone(parsed.Values), parsed: maps.Clone(parsed.Values), asked: parsed.Asked,
		env: env, EnvSet: map[string]string{},
	}
}

// Get is the present value of a setting; nil when it is None or unknown.
func (s *Settings) Get(name string) any { return s.values[name] }

// Known says whether the release has the setting.
func (s *Settings) Known(name string) bool { _, ok := s.values[name]; return ok }

// Parsed is the value that the parser left.
func (s *Settings) Parsed(name string) any { return s.parsed[name] }

// Asked says whether the command line names the setting.
func (s *Settings) Asked(name string) bool { return s.asked[name] }

// Is compares a setting with values, as Python's "in" does.
func (s *Settings) Is(name string, values ...any) bool {
	v := s.values[name]
	for _, w := range values {
		if reflect.DeepEqual(v, w) {
			return true
		}
	}
	return false
}

// Nil says whether a setting is None.
func (s *Settings) Nil(name string) bool { return s.values[name] == nil }

// Str is a text setting; empty for None and other values.
func (s *Settings) Str(name string) string { v, _ := s.values[name].(string); return v }

// Bool is a switch; false for None and other values.
func (s *Settings) Bool(name string) bool { v, _ := s.values[name].(bool); return v }

// Int is a whole number; 0 for None and other values.
func (s *Settings) Int(name string) int {
	switch v := s.values[name].(type) {
	case int:
		return v
	case float64:
		return int(v)
	}
	return 0
}

// Float is a number; 0 for None and other values.
func (s *Settings) Float(name string) float64 {
	switch v := s.values[name].(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// Begin names the step that runs now.
func (s *Settings) Begin(id, source string) {
	s.step = Decision{ID: id, Source: source}
	s.Decide(Decision{})
}

// Decide begins a decision: it applies to all following changes and lines of
// the step until the next one.
func (s *Settings) Decide(d Decision) {
	if d.ID == "" {
		d.ID = s.step.ID
	}
	if d.Source == "" {
		d.Source = s.step.Source
	}
	s.now, s.open = d, len(s.Choices)
}

// Set changes a setting. Setting it to what it is already records nothing.
func (s *Settings) Set(name string, value any) {
	from, known := s.values[name]
	s.values[name] = value
	if known && reflect.DeepEqual(from, value) {
		return
	}
	s.Choices = append(s.Choices, Choice{
		ID: s.now.ID, Setting: name, From: from, To: value,
		By: s.now.By, Because: s.now.Because, Coupled: s.now.Coupled, Source: s.now.Source,
	})
}

// Print records a line that the engine prints in the decision in progress. It
// is attached to the decision's choices so far that have no line yet.
func (s *Settings) Print(level byte, text string) {
	s.Lines = append(s.Lines, Line{Level: level, Text: text})
	for i := s.open; i < len(s.Choices); i++ {
		if s.Choices[i].Line == "" {
			s.Choices[i].Line = text
		}
	}
}

// Apart runs a part of a decision that is one of its own, such as reading the
// model's configuration: the lines that it prints belong to no choice made
// before it.
func (s *Settings) Apart(part func()) {
	now, open := s.now, s.open
	s.open = len(s.Choices)
	part()
	s.now, s.open = now, open
}

// Env is a variable as the engine sees it now: what it set itself wins over
// the environment of the launch.
func (s *Settings) Env(name string) (string, bool) {
	if v, ok := s.EnvSet[name]; ok {
		return v, true
	}
	v, ok := s.env[name]
	return v, ok
}

// SetEnv records a variable that the engine sets for itself.
func (s *Settings) SetEnv(name, value string) { s.EnvSet[name] = value }

// Effective are the settings to report: the core ones, those that were asked
// for and those that differ from what the parser left.
func (s *Settings) Effective(core []string) map[string]any {
	out := make(map[string]any, len(core)+16)
	for _, k := range core {
		if v, ok := s.values[k]; ok {
			out[k] = v
		}
	}
	for k := range s.asked {
		out[k] = s.values[k]
	}
	for k, v := range s.values {
		if from, ok := s.parsed[k]; !ok || !reflect.DeepEqual(from, v) {
			out[k] = v
		}
	}
	return out
}

// Recorder is told which step runs.
type Recorder interface{ Begin(id, source string) }

// For returns the steps that a release has, in their order.
func For[S any](steps []Step[S], v flags.Version) []Step[S] {
	var out []Step[S]
	for _, st := range steps {
		if st.Versions.Has(v) {
			out = append(out, st)
		}
	}
	return out
}

// Run runs steps until one refuses.
func Run[S Recorder](steps []Step[S], state S) *Refusal {
	for _, st := range steps {
		state.Begin(st.ID, st.Source)
		err := st.Run(state)
		if err == nil {
			continue
		}
		r, ok := err.(*Refusal)
		if !ok {
			r = &Refusal{Message: err.Error()}
		}
		if r.Step == "" {
			r.Step = st.ID
		}
		return r
	}
	return nil
}

// Fill gives a setting a value without recording a choice, as if the parser
// had left it.
func (s *Settings) Fill(name string, value any) {
	s.values[name] = value
	s.parsed[name] = value
}
