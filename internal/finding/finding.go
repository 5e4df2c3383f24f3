// Package finding is the vocabulary of results: the messages that every verb
// emits, one JSON object per line under --json. Text, markdown, HTML and JUnit
// reports are made from the same messages and from nothing else.
//
// Readers must ignore unknown messages and unknown fields. Lists are never
// null: Marshal replaces nil by an empty list. The JSON Schema of this contract is schema/explain.schema.json.
//
// The package imports the standard library only; values are plain data without
// behaviour that needs a clock, a file or a network.
package finding

import "strings"

// SchemaVersion is the version of the JSON contract. It grows only when an old
// reader would misunderstand a new stream.
const SchemaVersion = "1"

// Confidence says how far the evidence carries.
type Confidence string

// The three degrees of confidence, strongest first.
const (
	Proven   Confidence = "proven"   // a deterministic signature, or an experiment separated it
	Likely   Confidence = "likely"   // a signature plus matching conditions
	Possible Confidence = "possible" // compatible with what was seen
)

// Rank orders confidences: 3 proven, 2 likely, 1 possible, 0 unknown.
func (c Confidence) Rank() int {
	switch c {
	case Proven:
		return 3
	case Likely:
		return 2
	case Possible:
		return 1
	}
	return 0
}

// Severity says what a finding means for the user.
type Severity string

// Severities. An error stops or spoils the server, a warning may spoil it, info
// is worth knowing only.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Outcome is how one launch ended.
type Outcome string

// Outcomes of a launch.
const (
	OK              Outcome = "ok"                // ready, and nothing that follows is a failure
	Failed          Outcome = "failed"            // never ready
	ReadyThenFailed Outcome = "ready-then-failed" // ready, failed afterwards
	Stalled         Outcome = "stalled"           // ends without progress and without error
	Stopped         Outcome = "stopped"           // ended from outside
	Planned         Outcome = "planned"           // not started: what the engine would decide
)

// Message is one of the *Msg types below.
type Message interface{ message() }

// Evidence is one observation. Log lines count physical lines (split on LF)
// from 1 and Text quotes them exactly (without the line end). Kind "engine" is
// a decision in the engine's source: File is the file and function, with the
// release it was read in, Text the line that the engine prints for it.
type Evidence struct {
	Kind   string `json:"kind"` // log | config | tensor | endpoint | request | command | engine
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Text   string `json:"text,omitempty"`
	Field  string `json:"field,omitempty"`
	Tensor string `json:"tensor,omitempty"`
	Note   string `json:"note,omitempty"` // why this line matters, in our words
}

// Change is one edit of a launch: the common currency of remedies, experiments
// and proofs. A nil From or To means "not set".
type Change struct {
	Kind string  `json:"kind"` // flag | env | config
	Name string  `json:"name"` // a flag as the command line spells it (--tp), a variable, a config field
	From *string `json:"from"`
	To   *string `json:"to"` // for a flag without value: ""
}

// Remedy is something the user can do. Command is the user's own launch,
// rewritten, with secrets as references ("$HF_TOKEN"); Script is the same as pasteable text in the user's own wrapper
// (shell, docker run, compose, Kubernetes).
type Remedy struct {
	Title   string            `json:"title"`
	Changes []Change          `json:"changes"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Script  string            `json:"script,omitempty"`
	Price   string            `json:"price,omitempty"` // "KV cache 371k -> ~228k tokens"
	Text    string            `json:"text,omitempty"`
	Decides []string          `json:"decides"` // ids of findings that this separates
}

// Subject names what an inspect finding is about.
type Subject struct {
	File   string `json:"file,omitempty"`
	Tensor string `json:"tensor,omitempty"`
	Field  string `json:"field,omitempty"`
}

// ConfigMsg opens every stream.
type ConfigMsg struct {
	Message       string `json:"message"` // "config"
	SchemaVersion string `json:"schema_version"`
	ToolVersion   string `json:"tool_version"`
}

// Milestone is a point of progress that a launch reached.
type Milestone struct {
	Name    string  `json:"name"`
	Phase   string  `json:"phase"`
	File    string  `json:"file,omitempty"`
	Line    int     `json:"line"`
	Seconds float64 `json:"seconds"` // since the launch's first time stamp; -1 when the line has no time
	Detail  string  `json:"detail,omitempty"`
}

// RankState is the last milestone of one rank.
type RankState struct {
	File  string `json:"file,omitempty"`
	Rank  string `json:"rank"`
	Last  string `json:"last"`
	Line  int    `json:"line"`
	Ended string `json:"ended,omitempty"` // how this rank ended, when it shows
}

// LaunchMsg describes one life of a server.
type LaunchMsg struct {
	Message       string      `json:"message"` // "launch"
	N             int         `json:"n"`
	Files         []string    `json:"files"`
	Missing       []string    `json:"missing_files"` // nodes whose log was not given, by name
	Engine        string      `json:"engine"`
	EngineVersion string      `json:"engine_version"`
	VersionExact  bool        `json:"version_exact"` // false: nearest known release assumed
	VersionNote   string      `json:"version_note,omitempty"`
	FirstLine     int         `json:"first_line"`
	LastLine      int         `json:"last_line"`
	Outcome       Outcome     `json:"outcome"`
	Phase         string      `json:"phase"` // where it ended
	Verdict       string      `json:"verdict"`
	Model         string      `json:"model,omitempty"`
	Hardware      string      `json:"hardware,omitempty"`
	Parallel      string      `json:"parallel,omitempty"` // "tp 8", "tp 4, pp 2"
	Command       []string    `json:"command"`
	Env           []Pair      `json:"env"` // variables in front of the command, secrets as references
	CommandFrom   *Evidence   `json:"command_from,omitempty"`
	Milestones    []Milestone `json:"milestones"`
	NextMissing   string      `json:"next_missing,omitempty"` // the first milestone that did not come
	Ranks         []RankState `json:"ranks"`
	Facts         []FactEntry `json:"facts"`
	Notes         []string    `json:"notes,omitempty"` // plan: what was assumed or not understood
	ErrorLines    int         `json:"error_lines"`     // error-like lines in all
	Following     int         `json:"following_lines"` // of these, lines explained as consequences
}

// FactEntry is one typed fact as shown to users.
type FactEntry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Unit  string `json:"unit,omitempty"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
}

// SymptomMsg is what was observed to go wrong: certain, and not the cause.
type SymptomMsg struct {
	Message  string     `json:"message"` // "symptom"
	Launch   int        `json:"launch"`
	Title    string     `json:"title"`
	Evidence []Evidence `json:"evidence"`
}

// FindingMsg is a rule or check that applies. Rank 1 is the root cause; a
// consequence has rank > 1 and names what it follows from in Explains.
type FindingMsg struct {
	Message    string     `json:"message"` // "finding"
	Launch     int        `json:"launch"`
	Rank       int        `json:"rank"`
	ID         string     `json:"id"`
	Cause      string     `json:"cause"` // a class of facts/causes.md
	Severity   Severity   `json:"severity"`
	Confidence Confidence `json:"confidence"`
	Role       string     `json:"role"` // cause | consequence | latent | remark
	Title      string     `json:"title"`
	Why        string     `json:"why,omitempty"`      // plain words
	Basis      string     `json:"basis,omitempty"`    // why this confidence
	Explains   []string   `json:"explains"`           // a cause: "symptom" or ids below it; a consequence: what it follows from
	Subject    *Subject   `json:"subject,omitempty"`  // inspect only
	Ranks      []string   `json:"ranks"`              // process ranks that show it
	Count      int        `json:"count"`              // lines that match in all
	Folded     int        `json:"folded"`             // further error lines that follow from this one
	Evidence   []Evidence `json:"evidence"`           // strongest first
	Remedies   []Remedy   `json:"remedies"`           // best first
	Decide     []string   `json:"decide"`             // what would decide, when not proven
	Sources    []string   `json:"sources"`            // URLs or issue numbers the rule stands on
	Captures   []Pair     `json:"captures,omitempty"` // what the pattern read from the line
}

// Pair is a named value in a fixed order.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NotItMsg is a line that looks guilty and is not.
type NotItMsg struct {
	Message  string     `json:"message"` // "not-it"
	Launch   int        `json:"launch"`
	ID       string     `json:"id"`
	Title    string     `json:"title"`
	Why      string     `json:"why"`
	Evidence []Evidence `json:"evidence"`
}

// Asked says whether the user set a value. Known false: this log cannot tell.
type Asked struct {
	Known bool    `json:"known"`
	Value *string `json:"value"` // nil: known not to be asked
}

// SettingMsg is one row of the ledger.
type SettingMsg struct {
	Message   string     `json:"message"` // "setting"
	Launch    int        `json:"launch"`
	Name      string     `json:"name"` // the engine's own name
	Asked     Asked      `json:"asked"`
	Effective string     `json:"effective"`
	ChosenBy  string     `json:"chosen_by"` // user | default | model | checkpoint | hardware | coupling | environment | unknown
	Choice    string     `json:"choice,omitempty"`
	Coupled   []string   `json:"coupled"` // settings that forced this one
	Silent    bool       `json:"silent"`  // replaced although the user asked for another value
	Because   []Evidence `json:"because"`
	// Predicted is the value that the engine's own rules give for this launch,
	// empty when too little is known of it (explain).
	Predicted   string `json:"predicted,omitempty"`
	Contradicts bool   `json:"contradicts,omitempty"` // the effective value is another one
}

// RefusedMsg is something for which the engine will not run a launch as it is
// asked for (plan).
type RefusedMsg struct {
	Message  string     `json:"message"` // "refused"
	Launch   int        `json:"launch"`
	Kind     string     `json:"kind"` // a flag: unknown | removed | introduced-later | renamed | ambiguous | bad-choice | bad-value | missing-value | missing-flag | stray-argument; else combination | load
	Stage    string     `json:"stage"`
	Name     string     `json:"name,omitempty"`  // the flag as written
	Text     string     `json:"text"`            // what is refused, in our words
	Error    string     `json:"error,omitempty"` // the engine's own message
	Choice   string     `json:"choice,omitempty"`
	Because  []Evidence `json:"because"`
	Remedies []Remedy   `json:"remedies"`
}

// IgnoredMsg is an override that will have no effect (plan): the engine
// replaces it, or reads it and does nothing with it.
type IgnoredMsg struct {
	Message   string     `json:"message"` // "ignored"
	Launch    int        `json:"launch"`
	Name      string     `json:"name"`  // the setting
	Flag      string     `json:"flag"`  // as written
	Asked     string     `json:"asked"` // the value as written
	Effective string     `json:"effective"`
	ChosenBy  string     `json:"chosen_by"`
	Choice    string     `json:"choice,omitempty"`
	Coupled   []string   `json:"coupled"` // settings that forced the other value
	Why       string     `json:"why"`
	Because   []Evidence `json:"because"`
	Remedies  []Remedy   `json:"remedies"` // what would have to be set instead
}

// MemoryMsg says how the memory of one GPU will be used (plan, inspect). All sizes are in
// GiB.
type MemoryMsg struct {
	Message       string       `json:"message"` // "memory"
	Launch        int          `json:"launch"`
	Total         float64      `json:"total_gib"`          // of one GPU
	Items         []MemoryItem `json:"items"`              // in the order in which the engine takes them
	Left          float64      `json:"left_gib"`           // free when the server is up
	KVTokens      int          `json:"kv_tokens"`          // 0: no room, or not known
	BytesPerToken float64      `json:"kv_bytes_per_token"` // on one GPU, all layers
	Fits          bool         `json:"fits"`
	Text          string       `json:"text"`  // the verdict in words
	Notes         []string     `json:"notes"` // what the numbers leave out
}

// MemoryItem is one use of a GPU's memory.
type MemoryItem struct {
	Name string  `json:"name"`
	Size float64 `json:"gib"`
	How  string  `json:"how"` // the formula with its values
}

// CheckpointMsg says what a checkpoint is (inspect). Sizes are in bytes.
type CheckpointMsg struct {
	Message       string        `json:"message"` // "checkpoint"
	Path          string        `json:"path"`
	Format        string        `json:"format"` // safetensors | gguf
	Family        string        `json:"family"` // model_type, or the architecture of a GGUF file; empty when unknown
	Architecture  string        `json:"architecture,omitempty"`
	HeadersOnly   bool          `json:"headers_only"` // no weight file is there: judged from config.json and the index
	Files         int           `json:"files"`
	Bytes         int64         `json:"bytes"`
	Tensors       int           `json:"tensors"`
	Parameters    int64         `json:"parameters"` // weights without scales; 0 when only names are known
	Layers        int           `json:"layers"`     // without those for multi-token prediction
	DraftLayers   int           `json:"draft_layers"`
	ContextLength int           `json:"context_length"`
	Quantisation  string        `json:"quantisation"` // what the configuration says, in words; "none"
	Groups        []WeightGroup `json:"groups"`       // in the order of their size
	KV            []KVLayout    `json:"kv"`
	Engine        string        `json:"engine,omitempty"` // what it was judged for
	EngineVersion string        `json:"engine_version,omitempty"`
	Hardware      string        `json:"hardware,omitempty"`
	Parallel      string        `json:"parallel,omitempty"`
	ScannedBytes  int64         `json:"scanned_bytes"` // values that were read, 0 without --scan
	Checks        int           `json:"checks"`        // checks that were made
	Notes         []string      `json:"notes"`
}

// WeightGroup is the weights of one kind of module that are stored alike.
type WeightGroup struct {
	Name       string `json:"name"`   // "routed experts", "attention" ...
	Format     string `json:"format"` // "nvfp4", "BF16" ...
	Modules    int    `json:"modules"`
	Parameters int64  `json:"parameters"`
	Bytes      int64  `json:"bytes"` // with scales
}

// KVLayout is the size of the KV cache in one layout.
type KVLayout struct {
	Name          string  `json:"name"`            // "bf16", "fp8 packed"
	BytesPerToken float64 `json:"bytes_per_token"` // all layers, not divided over GPUs
	How           string  `json:"how"`             // the formula with its values
}

// TensorMsg describes one tensor that was asked for (inspect --tensor, --layer).
type TensorMsg struct {
	Message string      `json:"message"` // "tensor"
	Name    string      `json:"name"`
	File    string      `json:"file"`
	DType   string      `json:"dtype"`
	Shape   []int       `json:"shape"`
	Offset  int64       `json:"offset"` // in the file
	Bytes   int64       `json:"bytes"`
	Storage string      `json:"storage,omitempty"` // how its module stores the weight
	Values  *ValueStats `json:"values,omitempty"`  // nil when there are no values to read
}

// ValueStats are the stored values of a tensor, dequantised where the tensor
// holds codes. Numbers that are not finite are the strings "NaN", "Inf", "-Inf".
type ValueStats struct {
	Count    int64  `json:"count"`
	NaN      int64  `json:"nan"`
	Inf      int64  `json:"inf"`
	Zero     int64  `json:"zero"`
	Min      Number `json:"min"` // of the finite values
	Max      Number `json:"max"`
	RMS      Number `json:"rms"`
	FirstBad int64  `json:"first_bad"` // index of the first value that is not finite, -1: none
}

// UnexplainedMsg is a cluster of error-like lines that no finding covers.
type UnexplainedMsg struct {
	Message string `json:"message"` // "unexplained"
	Launch  int    `json:"launch"`
	Count   int    `json:"count"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line"`
	Text    string `json:"text"`
}

// DriftMsg is a known line in a new form: the anchor was found and the pattern
// did not match, which is how a new engine release shows itself.
type DriftMsg struct {
	Message string `json:"message"` // "drift"
	Launch  int    `json:"launch"`
	ID      string `json:"id"`
	Count   int    `json:"count"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line"`
	Text    string `json:"text"`
}

// ErrorMsg is an expected error in machine form (unreadable input, no engine).
type ErrorMsg struct {
	Message  string `json:"message"` // "error"
	Text     string `json:"text"`
	Next     string `json:"next,omitempty"` // the command to type next
	ExitCode int    `json:"exit_code"`
}

// EndMsg closes every complete stream; a stream without it was cut.
type EndMsg struct {
	Message  string `json:"message"` // "end"
	Launches int    `json:"launches"`
	Findings int    `json:"findings"`
	ExitCode int    `json:"exit_code"`
}

// Side is one of the two launches of a comparison.
type Side struct {
	Files         []string `json:"files"`
	Launch        int      `json:"launch"`   // its number in its input, from 1
	Launches      int      `json:"launches"` // launches in that input
	Engine        string   `json:"engine"`
	EngineVersion string   `json:"engine_version"`
	Outcome       Outcome  `json:"outcome"`
	Phase         string   `json:"phase"` // where it ended
	Verdict       string   `json:"verdict"`
	Model         string   `json:"model,omitempty"`
	Hardware      string   `json:"hardware,omitempty"`
	Parallel      string   `json:"parallel,omitempty"`
}

// ComparisonMsg opens the comparison of a launch that worked with one that did
// not; the differences follow, most suspicious first.
type ComparisonMsg struct {
	Message    string   `json:"message"` // "comparison"
	Good       Side     `json:"good"`
	Bad        Side     `json:"bad"`
	PartsAfter string   `json:"parts_after,omitempty"` // the last milestone that both reached
	Verdict    string   `json:"verdict"`               // where and how the two part, in words
	Equal      int      `json:"equal"`                 // settings, facts and milestones that are the same in both
	Dropped    int      `json:"dropped"`               // differences of what differs between any two launches
	Notes      []string `json:"notes"`                 // reservations that hold for the whole comparison
}

// WriterFile is the name under which the lines of one writer of a file are shown
// when several servers share it: all.log[decode-1].
func WriterFile(file, writer string) string { return file + "[" + writer + "]" }

// SplitWriterFile takes such a name apart; writer is empty for the name of a
// whole file.
func SplitWriterFile(name string) (file, writer string) {
	if at := strings.LastIndexByte(name, '['); at > 0 && strings.HasSuffix(name, "]") {
		return name[:at], name[at+1 : len(name)-1]
	}
	return name, ""
}

// Weight says what a difference means.
type Weight string

// Weights, heaviest first.
const (
	Decisive   Weight = "decisive"   // where and how the two part: certain, and not yet the reason
	Suspicious Weight = "suspicious" // may be why they part
	Note       Weight = "note"       // differs, and nothing points to it
)

// DifferenceMsg is one thing in which two launches differ. An empty value means
// that the launch does not have it, or that its log does not show it.
type DifferenceMsg struct {
	Message      string     `json:"message"` // "difference"
	Kind         string     `json:"kind"`    // outcome | version | model | hardware | parallel | setting | choice | fact | phase-time | milestone | finding | command
	Name         string     `json:"name"`    // a setting, fact, milestone, flag or rule
	Good         string     `json:"good"`
	Bad          string     `json:"bad"`
	Weight       Weight     `json:"weight"`
	Why          string     `json:"why,omitempty"` // why this weight, in plain words
	EvidenceGood []Evidence `json:"evidence_good"`
	EvidenceBad  []Evidence `json:"evidence_bad"`
	Next         *Remedy    `json:"next,omitempty"` // BAD's launch with GOOD's value
}

func (*ConfigMsg) message()      {}
func (*LaunchMsg) message()      {}
func (*SymptomMsg) message()     {}
func (*FindingMsg) message()     {}
func (*NotItMsg) message()       {}
func (*SettingMsg) message()     {}
func (*UnexplainedMsg) message() {}
func (*DriftMsg) message()       {}
func (*ErrorMsg) message()       {}
func (*EndMsg) message()         {}
func (*ComparisonMsg) message()  {}
func (*DifferenceMsg) message()  {}
func (*RefusedMsg) message()     {}
func (*IgnoredMsg) message()     {}
func (*MemoryMsg) message()      {}
func (*CheckpointMsg) message()  {}
func (*TensorMsg) message()      {}

// Handler receives the messages of one run in order. Implementations write a
// format (text, JSON, HTML ...). Handle is called from one goroutine; a handler
// must not keep or change a message after Handle returns unless it copies it.
// Close finishes the output; it is called once, also after an error.
type Handler interface {
	Handle(Message) error
	Close() error
}
