package score

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"shakedown/internal/explain"
)

// incident is one report of a failure in somebody's words, with a few lines of
// its log. Only these fields are given to explain.
type incident struct {
	ID      string   `json:"id"`
	Engine  string   `json:"engine"`
	Version string   `json:"engine_version"`
	GPU     string   `json:"gpu"`
	Launch  string   `json:"launch"`
	Lines   []string `json:"log_lines"`
}

// incidentLabel is the true cause of an incident.
type incidentLabel struct {
	ID      string   `json:"id"`
	Cause   string   `json:"cause"`
	Second  []string `json:"second"`
	HasLine bool     `json:"has_real_log_line"`
}

// IncidentScore counts the incidents whose rank-1 cause is right.
type IncidentScore struct {
	All     Rate
	Halves  [2]Rate // by Half
	ByCause map[string]Rate
	Misses  []Miss
}

// Incidents scores incidents.jsonl with incident-labels.jsonl of a folder, those
// with real log lines. Rule hits are noted in use.
func Incidents(ctx context.Context, fsys fs.FS, use *Usage) (*IncidentScore, error) {
	labels := map[string]incidentLabel{}
	err := readRecords(fsys, "incident-labels.jsonl", func(l incidentLabel) error {
		labels[l.ID] = l
		return nil
	})
	if err != nil {
		return nil, err
	}
	res := &IncidentScore{ByCause: map[string]Rate{}}
	err = readRecords(fsys, "incidents.jsonl", func(in incident) error {
		l, ok := labels[in.ID]
		if !ok {
			return fmt.Errorf("incident %s has no label", in.ID)
		}
		if !l.HasLine {
			return nil
		}
		return res.incident(ctx, in, l, use)
	})
	return res, err
}

func (s *IncidentScore) incident(ctx context.Context, in incident, l incidentLabel, use *Usage) error {
	a, err := ask(ctx, in.ID, in.log(), explain.Options{Engine: in.engine(), GPU: in.gpu()})
	if err != nil && !errors.Is(err, explain.ErrNoEngine) {
		return fmt.Errorf("%s: %w", in.ID, err)
	}
	half := HalfOf(in.ID)
	use.note(half, a.ids())
	id, cause := a.root()
	want := LaunchLabel{Cause: l.Cause, Second: l.Second}
	right := want.accepts(cause)
	s.All.add(right)
	s.Halves[half].add(right)
	addTo(s.ByCause, l.Cause, right)
	if !right {
		s.Misses = append(s.Misses, Miss{in.ID, 0, fmt.Sprintf("want %s, got %s %s", l.Cause, cause, id)})
	}
	return nil
}

// root is the rank-1 finding of the first launch that has one. Without one,
// cause says what is missing.
func (a *answer) root() (id, cause string) {
	for _, l := range a.launches {
		if fs := a.findings[l.N]; len(fs) > 0 {
			return fs[0].ID, fs[0].Cause
		}
	}
	if len(a.launches) == 0 {
		return "", "no launch"
	}
	return "", "no finding"
}

// fork is a project whose server is a fork of SGLang, with versions of its own.
const fork = "ktransformers"

// names are the words by which incidents name an engine.
var names = []struct{ word, engine string }{
	{fork, "sglang"},
	{"sglang", "sglang"},
	{"vllm", "vllm"},
	{"llama.cpp", "llamacpp"},
	{"llama-box", "llamacpp"},
	{"tensorrt-llm", "trtllm"},
	{"lmdeploy", "lmdeploy"},
}

// programs start the engines; they stand before flags that come alone.
var programs = map[string]string{
	"sglang":   "python -m sglang.launch_server",
	"vllm":     "vllm serve",
	"llamacpp": "llama-server",
	"trtllm":   "trtllm-serve",
	"lmdeploy": "lmdeploy serve api_server",
}

// engineName is the engine whose name stands first, "" when none does.
func (in incident) engineName() string {
	name, first := "", len(in.Engine)+1
	text := strings.ToLower(in.Engine)
	for _, n := range names {
		if i := strings.Index(text, n.word); i >= 0 && i < first {
			name, first = n.engine, i
		}
	}
	return name
}

// version is a release, development version or build number at the start, or
// after the colon of an image.
var version = regexp.MustCompile(`^(?:[\w./-]*:)?v?(\d+\.\d+\.\d+[\w.+]*|\d+\.\d+(?:rc\d+)?|b\d{4,})(?:[\s,/()-]|$)`)

// engine is what a user would say: "sglang@0.5.9", without a version when the
// field holds none.
func (in incident) engine() string {
	name := in.engineName()
	m := version.FindStringSubmatch(in.Version)
	if m == nil || name == "" || strings.HasPrefix(strings.ToLower(in.Engine), fork) {
		return name
	}
	return name + "@" + m[1]
}

// gpu is the GPU field up to its first remark, "" when it names none.
func (in incident) gpu() string {
	text, _, _ := strings.Cut(in.GPU, ";")
	text, _, _ = strings.Cut(text, ",")
	if strings.Count(text, "(") > strings.Count(text, ")") {
		text = text[:strings.LastIndex(text, "(")] // cut inside the remark
	}
	for _, no := range []string{"any", "n/a", "not ", "multi", "various", "CUDA", "upstream"} {
		if strings.HasPrefix(text, no) {
			return ""
		}
	}
	return strings.TrimSpace(text)
}

// log is a log made of nothing but the command and the quoted lines.
func (in incident) log() []byte {
	var b strings.Builder
	if cmd := in.command(); cmd != "" {
		fmt.Fprintf(&b, "$ %s\n", cmd)
	}
	for _, l := range in.Lines {
		if !isNote(l) {
			b.WriteString(l + "\n")
		}
	}
	return []byte(b.String())
}

// processTag is what some engines print before a line: "(Worker_TP0 pid=7) ".
var processTag = regexp.MustCompile(`^\(\w+(?:,? \w+=[^ ,)]+)*\) `)

// isNote says whether a line is a remark in parentheses and no log line.
func isNote(line string) bool {
	return strings.HasPrefix(line, "(") && !processTag.MatchString(line)
}

var (
	// commandStart is what a command begins with: variables, then a flag or a
	// program that serves.
	commandStart = regexp.MustCompile(`^((?:[A-Z_0-9]+=\S+ )*)(-|python3? -m |vllm serve |sglang serve |trtllm-serve |llama-server |lmdeploy serve )`)
	// commandEnd is where prose goes on after a command.
	commandEnd = regexp.MustCompile(`, |; | \[| \(| \+ | / | or | with | without | vs | \.\.\.`)
)

// command is the launch field as a command line, "" when it is only prose.
func (in incident) command() string {
	text := in.Launch
	if at := commandEnd.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	m := commandStart.FindStringSubmatch(text)
	program := programs[in.engineName()]
	switch {
	case m == nil:
		return ""
	case m[2] != "-":
		return text
	case program == "":
		return ""
	}
	return m[1] + program + " " + text[len(m[1]):]
}
