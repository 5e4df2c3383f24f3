package compare

import (
	"regexp"
	"strings"

	"shakedown/internal/finding"
)

// failure is what BAD's first cause says, as text to look for names in.
type failure struct {
	id      string
	said    string          // all that names a setting: title, captures, evidence, remedies
	shown   string          // the lines of the log alone, in lower case
	joined  string          // said, with "_" between all words: what can't be in it is not searched
	changed map[string]bool // flags and variables that a remedy changes
	restore *restorer
	known   map[string]string // answers of names, by setting
}

// maxSaid bounds the text to look in; a rule's words and the lines that it
// quotes have a few kilobytes.
const maxSaid = 64 << 10

// newFailure reads the first cause; without one, nothing is coupled.
func newFailure(bad *Launch, r *restorer) *failure {
	f := &failure{changed: make(map[string]bool), restore: r, known: make(map[string]string)}
	root := bad.firstCause()
	if root == nil {
		return f
	}
	f.id = root.ID
	var shown []string
	for _, e := range root.Evidence {
		shown = append(shown, e.Text, e.Field)
	}
	for _, p := range root.Captures {
		shown = append(shown, p.Name+"="+p.Value)
	}
	lines := bounded(strings.Join(shown, "\n"))
	f.shown = strings.ToLower(lines)
	said := []string{lines, root.Title, root.Why}
	for _, r := range root.Remedies {
		said = append(said, r.Title, r.Text)
		f.changes(r.Changes)
	}
	f.said = bounded(strings.Join(append(said, root.Decide...), "\n"))
	f.joined = strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(f.said))
	return f
}

func bounded(text string) string { return text[:min(len(text), maxSaid)] }

func (f *failure) changes(list []finding.Change) {
	for _, c := range list {
		f.changed[undashed(c.Name)] = true
	}
}

// undashed is a flag as a setting would be spelled.
func undashed(name string) string {
	return strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")
}

// names says how the cause points to a setting, "" when it does not. s is the
// setting in BAD, nil when only the name is known.
func (f *failure) names(name string, s *finding.SettingMsg) string {
	if f.id == "" {
		return ""
	}
	why, ok := f.known[name]
	if !ok {
		why = f.points(name, s)
		f.known[name] = why
	}
	return why
}

// forced says for each setting that forced a coupled one how the cause points
// to it.
func (f *failure) forced(settings []finding.SettingMsg) map[string]string {
	out := make(map[string]string)
	for i := range settings {
		s := &settings[i]
		if len(s.Coupled) == 0 {
			continue
		}
		why := f.names(s.Name, s)
		if why == "" {
			continue
		}
		for _, name := range s.Coupled {
			if out[name] == "" {
				out[name] = "it forced " + s.Name + ": " + why
			}
		}
	}
	return out
}

// points is names without its memory.
func (f *failure) points(name string, s *finding.SettingMsg) string {
	spellings := f.restore.spellings(name)
	for _, n := range spellings {
		if f.changed[n] {
			return "a remedy of BAD's first cause (" + f.id + ") changes it"
		}
	}
	for _, n := range spellings {
		if f.mentions(n) {
			return "BAD's first cause (" + f.id + ") names it"
		}
	}
	if s != nil && isTelling(s.Effective) && f.shows(bare(s.Effective)) {
		return "the lines of BAD's first cause (" + f.id + ") name its value"
	}
	return ""
}

// mentions looks for a name with any separator between its words. A name of a
// single word ("dtype", "device") is also a word of English, so it counts only
// where it is written as a flag.
func (f *failure) mentions(name string) bool {
	if !strings.Contains(f.joined, strings.ToLower(name)) {
		return false
	}
	parts := strings.Split(name, "_")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	if len(parts) == 1 {
		return regexp.MustCompile(`(?i)--` + parts[0] + `\b`).MatchString(f.said)
	}
	return word(strings.Join(parts, "[_ -]")).MatchString(f.said)
}

// shows looks for a value in the lines of the log.
func (f *failure) shows(value string) bool {
	value = strings.ToLower(value)
	return strings.Contains(f.shown, value) && word(regexp.QuoteMeta(value)).MatchString(f.shown)
}

// word matches an expression that is no part of a longer name; it may be a flag.
func word(expr string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^a-z0-9_-]|[^a-z0-9]--?)` + expr + `(?:$|[^a-z0-9-])`)
}

// leastTelling is the length from which a value is more than a common word.
const leastTelling = 5

var letters = regexp.MustCompile(`[a-zA-Z]{3}`)

// isTelling says that a value can only mean one thing: it is a name, and no
// number, type or yes and no.
func isTelling(value string) bool {
	v := strings.ToLower(bare(value))
	switch v {
	case "false", "float16", "float32", "bfloat16", "cuda:0", "default":
		return false
	}
	return len(v) >= leastTelling && letters.MatchString(v) && !strings.ContainsAny(v, " \n")
}
