// Package engine defines what the product must know about a serving engine to
// read its logs: which lines it prints (as literal anchors and capture
// patterns), what each of them means, how its configuration dumps are written,
// and in which order its milestones come. The engines themselves are data in
// the packages below this one (engine/sglang, engine/vllm ...); they do not
// import each other, and the explicit list of them is engine/all.
//
// An anchor is a literal byte string that must occur in a line before anything
// else is tried; all anchors of all engines and rules are found in one pass by
// one automaton. A pattern is literal text with captures in angle brackets:
//
//	Load weight end. elapsed=<elapsed> s, type=<type>, <_>avail mem=<avail> GB
//
// <name> takes the shortest text up to the next literal (at the end of the
// pattern: the rest of the line), <_> is the same without a name. A pattern
// matches anywhere in a line; the text before its first literal is free.
// When an anchor is found but none of the line's patterns match, the line is
// reported as "known line, new form": that is how a new release shows itself.
package engine

import (
	"shakedown/internal/fact"
)

// Kind is what a known line means.
type Kind int

// Kinds of lines.
const (
	// Mile is a milestone: it enters Phase and is named Name.
	Mile Kind = iota
	// Banner says that a new server starts here (a version banner, a start-up
	// notice). Together with commands and config dumps it splits launches.
	Banner
	// ConfigDump is a config dump; Engine.ParseDump reads it.
	ConfigDump
	// Ready is the milestone after which the server answers requests.
	Ready
	// Served is a request that was answered (HTTP 200, a decode batch): proof of
	// life, counted and not kept.
	Served
	// Info carries facts only.
	Info
	// Choice is an automatic selection: it fills the ledger through Sets.
	Choice
	// Noise looks like an error and is harmless; Why says so to the user.
	Noise
	// Wrapper reports a failure whose cause stands elsewhere (EngineDeadError,
	// "Received sigquit", "See root cause above"). It makes the launch failed
	// and is a consequence, never a cause.
	Wrapper
	// Fatal reports that a process of the server fails at this line; the cause
	// is this line's exception or an earlier line.
	Fatal
	// Exit is the orderly or forced end of the server process.
	Exit
	// Stop is an interruption from outside: Ctrl-C, SIGTERM, a cancelled job.
	Stop
	// Symptom is a failure as the user sees it, whose frame or text does not name
	// the cause (a sampler assert).
	Symptom
)

// Set is one ledger entry that a line makes.
type Set struct {
	Setting string   // the engine's own name; may contain captures: "<name>"
	Value   string   // may contain captures: "<prefill>"
	By      string   // model | checkpoint | hardware | coupling | environment | default | unknown
	From    []string // settings that forced this one, for By "coupling"
}

// Line is one known log line.
type Line struct {
	ID     string // stable, unique over all engines: "SGL-LOAD-END"; for a Choice it is the choice id
	Kind   Kind
	Anchor string // literal, at least 6 bytes
	// Patterns are the forms that this line has had, newest first. Empty: the
	// anchor alone is the line.
	Patterns []string
	Alone    bool                // the anchor is the whole text of the line
	Phase    fact.Phase          // Mile, Ready: the phase that begins here
	Name     string              // Mile, Ready: name of the milestone as shown to users
	Facts    map[fact.Key]string // key -> template with captures: "<avail>"
	Sets     []Set               // Choice
	Why      string              // Noise, Wrapper, Symptom: one sentence for the user; Choice: the rule the engine followed
	Title    string              // Symptom, Fatal, Exit, Stop: a short title
	Since    string              // first release with this line, "" when not known; documentation only
	Source   string              // URL, file of the engine or issue number
}

// Dump is a parsed configuration dump.
type Dump struct {
	// Effective is true for a dump printed after resolution: its values are what
	// ran, and nothing says what was asked. False: these are the user's own
	// values ("non-default args").
	Effective bool
	Settings  []Setting
}

// Setting is one name and value of a dump, as the engine spells them.
type Setting struct {
	Name  string
	Value string
}

// Engine is what is known about one serving engine. Values are immutable after
// package initialisation and may be used from several goroutines.
type Engine struct {
	Name  string // "sglang"
	Title string // "SGLang"
	Lines []Line
	// Signs are literals that tell this engine from others when no banner is in
	// the input (a paste that begins mid-log), strongest first.
	Signs []string
	// Frames are path fragments of this engine's own code in tracebacks:
	// "site-packages/vllm/".
	Frames []string
	// Milestones are the names of the milestones in the order in which a healthy
	// start passes them; optional ones end with "?". The last one is Ready.
	Milestones []string
	// UpHeadless and UpOffline are the milestones after which a process without a
	// front end of its own is up: a headless node, and a script that uses the
	// engine as a library. Empty: there is none.
	UpHeadless, UpOffline string
	// AnswersMeanReady: the HTTP server starts only when the engine is up, so that
	// an answer is as good as the ready line.
	AnswersMeanReady bool
	// NewestKnown is the newest release the lines were checked against.
	NewestKnown string
	// Facts maps a setting of a dump to the fact that it states (tp_size ->
	// parallel.tp).
	Facts map[string]fact.Key
	// Names maps the setting that a flag writes (argparse dest) to the name that
	// dumps and the ledger use, where they differ (vLLM: kv_cache_dtype ->
	// cache.cache_dtype).
	Names map[string]string
	// Hidden are settings that the ledger does not show (paths, ports, seeds, logging).
	Hidden []string
	// ParseDump reads the configuration dump that begins on this line (already
	// without prefix). ok is false when the line holds none. The input is
	// hostile: any length, any bytes; the parser must not panic.
	ParseDump func(text string) (d Dump, ok bool)
}
