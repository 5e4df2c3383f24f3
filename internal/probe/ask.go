package probe

import (
	"strconv"
	"time"
)

// Kind is the sort of a request.
type Kind string

// Kinds of requests.
const (
	Chat       Kind = "chat"       // messages through the server's template
	Completion Kind = "completion" // raw text or tokens
	Tokenize   Kind = "tokenize"   // the tokens of a text, nothing is computed
	Health     Kind = "health"     // the server's own word that it is well
	Metrics    Kind = "metrics"    // its counters
)

// Sampling says how tokens are to be chosen. Each signature is asked in all three
// ways: argmax hides NaN, and the defaults of generation_config.json can make the
// plain request fail where one with a temperature works.
type Sampling string

// Ways of sampling.
const (
	Greedy Sampling = "greedy" // temperature 0
	Hot    Sampling = "hot"    // temperature 1, top_p 1
	Plain  Sampling = "plain"  // no sampling field at all
)

// Ask is one request, in the words of no engine.
type Ask struct {
	Kind     Kind
	Label    string    // what it is for, in a few words
	Messages []Message // of a chat
	Prompt   string    // of a completion, or the text to tokenize
	Tokens   []int     // instead of Prompt, where the server takes token ids
	Sampling Sampling
	Max      int  // tokens of the answer
	Top      int  // likeliest tokens told with each token; -1: no logprobs
	Echo     bool // logprobs of the prompt are wanted as well, computed anew
	// NoCache asks that no earlier text's KV cache is used, where the engine has
	// a way to say so.
	NoCache   bool
	IgnoreEOS bool // go on past the end token, where the engine has a way to say so
	Seed      *int
	N         int // answers to the same prompt; 0: 1
	Stop      []string
	Stream    bool
	// Leave, if positive, closes the connection of a stream after so many chunks.
	Leave int
	Tools []Tool
	// Schema asks for JSON that fits this JSON Schema.
	Schema string
	// Thinking false asks the template to leave reasoning out, nil says nothing.
	Thinking *bool
}

// Message is one turn of a chat.
type Message struct {
	Role, Content string
}

// Tool is a function that the model may call.
type Tool struct {
	Name, Description string
	Parameters        string // JSON Schema
}

// Failure is how a request came to nothing.
type Failure string

// Failures of a request; None means that a whole answer came.
const (
	None     Failure = ""
	Refused  Failure = "refused"   // no connection
	Reset    Failure = "reset"     // the connection broke before or within the answer
	TimedOut Failure = "timed out" // no answer, or no end of it, in time
	NotJSON  Failure = "not JSON"  // something else than the API speaks
	TooLarge Failure = "too large" // more bytes than any answer needs
	Status   Failure = "status"    // an error of the server, see Answer.Status and Answer.Error
	NotSent  Failure = "not sent"  // outside the bounds that were announced
	// Unsupported: the server has no such endpoint or parameter, or this probe does
	// not know how the engine spells it.
	Unsupported Failure = "unsupported"
)

// Answer is what came back.
type Answer struct {
	Exchange int // number of the recorded exchange, from 1; 0: none
	Failure  Failure
	Status   int    // HTTP status, 0 when there was none
	Error    string // the server's or the connection's words
	Choices  []Choice
	Prompt   []Token // the prompt's tokens, where Echo was asked; the first has no logprob
	Tokens   []int   // of Tokenize
	// Tokens of the prompt, of the answer, and of the prompt taken from the cache,
	// as the server counts them; -1: it does not say.
	PromptCount, AnswerCount, Cached int
	Model                            string // the name in the answer
	Chunks                           int    // events of a stream
	Ended                            bool   // a stream's end mark came
	Took                             time.Duration
	Metrics                          map[string]float64 // of Metrics: sums over labels
	// Odd says what of the answer did not fit its shape, in words; empty when all did.
	Odd string
}

// NoAnswer is a request that came to nothing: what was not counted is unknown.
func NoAnswer(f Failure, words string) Answer {
	return Answer{Failure: f, Error: words, PromptCount: -1, AnswerCount: -1, Cached: -1}
}

// OK says whether a whole answer came.
func (a *Answer) OK() bool { return a.Failure == None }

// Choice is one answer to the prompt.
type Choice struct {
	Text      string
	Reasoning string
	Calls     []Call
	Finish    string // "stop", "length" ...
	Tokens    []Token
	// Told says that logprobs were part of the answer.
	Told bool
}

// Call is a tool call.
type Call struct {
	Name, Arguments string
}

// Token is one token of an answer or prompt.
type Token struct {
	ID      int    // -1: not told
	Text    string // as the server shows it
	Bytes   []byte // nil: not told
	Logprob Logprob
	Top     []Ranked // likeliest first
}

// Logprob is a logarithm of a probability as it was told: servers spell NaN as
// null, and -Inf as null or as a large negative number.
type Logprob struct {
	Value float64 // meaningless when Null
	Null  bool    // null, NaN, or no number at all
}

// String is the number as evidence shows it.
func (l Logprob) String() string {
	if l.Null {
		return "null"
	}
	return strconv.FormatFloat(l.Value, 'f', 3, 64)
}

// Ranked is one of the likeliest tokens.
type Ranked struct {
	ID      int // -1: not told
	Text    string
	Logprob Logprob
}

// Exchange is a request and its answer as they went over the wire.
type Exchange struct {
	N            int    // from 1
	Probe, Label string // what it was for
	Method, Path string
	Request      string // the body, empty for none
	Status       int
	Answer       string // the body, cut when long
	Cut          bool
	Failure      Failure
	Error        string
	Took         time.Duration
}
