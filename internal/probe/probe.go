package probe

import "shakedown/internal/finding"

// Level is how much is asked.
type Level int

// Levels, each with everything of the one before.
const (
	Quick    Level = iota // fewer than 10 requests
	Default               // below a minute at 50 tokens a second
	Thorough              // long decodes, long prompts, many at a time
)

// Outcome is the verdict of one probe.
type Outcome string

// Outcomes.
const (
	Pass     Outcome = "pass"
	Fail     Outcome = "fail"
	CantTell Outcome = "cant-tell"
)

// Probe is one pattern of requests and how it is judged. Next and Judge are pure.
type Probe struct {
	ID    string
	Title string // what passes: "what was decoded is what a prefill says"
	Why   string // which faults show here, and nowhere else
	// Source is the URL, issue or measurement that the pattern stands on.
	Source string
	From   Level // the least level at which it is asked
	Gentle bool  // fit for a server in production
	// Essential: without a pass of this one nothing is proven right.
	Essential bool
	// Needs is what must be at hand, besides the server; without it the probe is left
	// out.
	Needs Need
	// Spared: a pass of the probe "oracle" says the same and more.
	Spared bool
	// Most is the most that Next asks for at this level.
	Most func(Level) Cost
	// Next is the next group of requests, which are sent at the same time; nil when
	// there is nothing more to ask.
	Next func(*State) []Ask
	// Compare names the texts that the exact engine has to judge, if there is one;
	// nil for none.
	Compare func(*State) []Text
	// Judge gives the verdict on all that was asked, also when some of it failed or
	// was not sent.
	Judge func(*State) Verdict
}

// Need is something that not every run has.
type Need string

// Needs of probes.
const (
	NeedsNothing Need = ""
	NeedsOracle  Need = "oracle"  // a checkpoint, and the exact engine
	NeedsAgainst Need = "against" // a second server, which is asked the same
	NeedsWord    Need = "word"    // what the user said of the server (Expected)
)

// Cost bounds what is sent.
type Cost struct {
	Requests     int
	PromptTokens int // a byte of text counts as a token: no vocabulary makes more of it
	AnswerTokens int
	Together     int // requests at the same time
}

// Add counts another probe's cost.
func (c *Cost) Add(o Cost) {
	c.Requests += o.Requests
	c.PromptTokens += o.PromptTokens
	c.AnswerTokens += o.AnswerTokens
	c.Together = max(c.Together, o.Together)
}

// Asked is a request with its answer.
type Asked struct {
	Ask    Ask
	Answer Answer
}

// State is what a probe may look at: the server, and all answers so far.
type State struct {
	Target  *Target
	Level   Level
	Gentle  bool
	Rounds  [][]Asked            // of this probe
	Earlier map[string][][]Asked // of the probes before it, by id
	// Floor is the noise that the server shows by itself, from the repeats.
	Floor Floor
	// Rate is how many tokens a second the server has decoded for a single request so
	// far; 0 when nothing is known.
	Rate float64
	// Other is the second server with its answers, for a probe that needs one.
	Other *Other
	// Reference computes what the exact engine says about texts of this probe; nil
	// without one. It is filled in before Judge.
	Reference *Reference
}

// Other is a second server. Its rounds are answers to the same asks.
type Other struct {
	Target *Target
	Rounds [][]Asked
}

// Verdict is what one probe showed.
type Verdict struct {
	Outcome Outcome
	Text    string // one sentence, with the numbers
	// Threshold says what was compared with what, and where the bound came from.
	Threshold string
	Evidence  []finding.Evidence
	Signs     []Sign
	// Floor is the noise of the server, where this probe measured it.
	Floor Floor
	// Detail completes the conclusion: "from token 65 on".
	Detail string
	// Suspects are causes that this probe can name by itself, best first.
	Suspects []Suspect
}

// Suspect is a cause that a probe names by itself, as the one whose arithmetic
// gives the same numbers.
type Suspect struct {
	Class      string // of the causes that findings know
	Confidence finding.Confidence
	Title, Why string
}

// Result is a probe with its verdict.
type Result struct {
	Probe   Probe
	Verdict Verdict
}

// Sign is something that verdicts have in common with causes. The conclusion is
// made from signs alone.
type Sign string
