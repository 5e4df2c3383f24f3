package report

import (
	"cmp"
	"slices"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/term"
)

// chosenFor are the ways in which a setting is chosen for the user.
var chosenFor = []string{"model", "checkpoint", "hardware", "coupling", "environment"}

// addSettings fills the ledger. What the user should see of it: silent
// replacements first, then what was chosen for them, then what those follow
// from, when nothing says who chose it.
func (v *view) addSettings(ms []finding.SettingMsg, p places) {
	value := map[string]string{}
	source := map[string]bool{} // settings that forced another one
	for _, m := range ms {
		value[m.Name] = m.Effective
		for _, c := range m.Coupled {
			source[c] = true
		}
	}
	for _, m := range ms {
		s := newSetting(m, value, p)
		v.Ledger = append(v.Ledger, s)
		switch {
		case m.Silent || m.Contradicts || slices.Contains(chosenFor, m.ChosenBy):
			v.Chosen = append(v.Chosen, s)
		case !m.Asked.Known && (source[m.Name] || m.Choice != ""):
			s.Because = strings.Join(nonEmpty(s.Because, "asked for? this log can't tell"), "; ")
			s.Sentence = sentence(s)
			v.Chosen = append(v.Chosen, s)
		case !m.Asked.Known:
			v.Unknown++
		}
	}
	slices.SortStableFunc(v.Chosen, func(a, b setting) int { return cmp.Compare(a.order(), b.order()) })
}

// order puts silent replacements first, couplings next.
func (s setting) order() int {
	switch {
	case s.Silent, s.Contradicts:
		return 0
	case s.By == "coupling":
		return 1
	}
	return 2
}

func newSetting(m finding.SettingMsg, value map[string]string, p places) setting {
	s := setting{
		Name:        m.Name,
		Asked:       asked(m.Asked),
		Effective:   m.Effective,
		By:          m.ChosenBy,
		Because:     because(m, value),
		Silent:      m.Silent,
		Contradicts: m.Contradicts,
		Choice:      m.Choice,
	}
	if len(m.Because) > 0 {
		s.Pos, s.Quote = p.of(m.Because[0]), m.Because[0].Text
	}
	switch {
	case m.Contradicts:
		s.Because = strings.Join(nonEmpty(s.Because, "the rules of this release give "+m.Predicted+": another version, or a patch?"), "; ")
	case m.Predicted != "" && slices.Contains(chosenFor, m.ChosenBy):
		s.Because = strings.Join(nonEmpty(s.Because, "predictable before the launch"), "; ")
	}
	s.Sentence = sentence(s)
	return s
}

func asked(a finding.Asked) string {
	switch {
	case !a.Known:
		return "unknown"
	case a.Value == nil:
		return "no"
	case *a.Value == "":
		return "yes"
	}
	return *a.Value
}

// maxValue is the width of a value in a sentence.
const maxValue = 40

// sentence says value and reason.
func sentence(s setting) string {
	sep := ", "
	if s.Because == "" || strings.HasPrefix(s.Because, "<-") {
		sep = " "
	}
	return strings.TrimSpace(term.Cut(s.Effective, maxValue) + sep + s.Because)
}

// because says in a few words why a setting has its value.
func because(m finding.SettingMsg, value map[string]string) string {
	maker := ""
	if len(m.Coupled) > 0 {
		from := make([]string, len(m.Coupled))
		for i, c := range m.Coupled {
			from[i] = strings.TrimSpace(c + " " + value[c])
		}
		maker = "<- " + strings.Join(from, ", ")
	} else if slices.Contains(chosenFor, m.ChosenBy) {
		maker = "by the " + m.ChosenBy
	}
	if m.Silent && len(m.Because) > 0 && m.Because[0].Kind == "engine" {
		return strings.Join(nonEmpty("instead of your "+asked(m.Asked), maker), " ")
	}
	if m.Silent {
		return strings.Join(nonEmpty("your "+asked(m.Asked)+" was replaced", maker), " ")
	}
	return maker
}
