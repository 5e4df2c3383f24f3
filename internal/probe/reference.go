package probe

// Text is a prompt and its answer, of which the exact engine is asked the
// logprobs of the answer's tokens (and of the prompt's, when they were told).
type Text struct {
	Prompt string
	IDs    []int // of the prompt, where known; else Prompt is tokenized by the model's own tokenizer
	Echoed []Token
	Answer []Token
	Said   string // the answer's text
	Asked  int    // number of the exchange
	Count  int    // tokens of the prompt as the server counts them, -1: unknown
	Cached bool   // its beginning was in the server's prefix cache
}

// Reference is what the exact engine says about the texts of a probe, in several
// arithmetics.
type Reference struct {
	Dir         string
	Arithmetics []Arithmetic
	// Missing says why nothing can be compared, empty when something can.
	Missing string
}

// Arithmetic is one numerics of the oracle. Sound ones are what a right server may
// compute with (so their distance from each other is what rounding may do); the
// others are faults of the public record.
type Arithmetic struct {
	Name  string // as --numerics takes it
	Sound bool
	// Coarse ones are sound and no measure of rounding: a KV cache of eight bits.
	Coarse bool
	Fault  string // what it plays, in words
	Cause  string // class of that fault
	// Rows has the logprobs of every told token, by text and position, prompt first.
	Rows [][]Row
}

// Row is one position of one text.
type Row struct {
	Skip bool      // nothing can be said of this token, as of the first of a text: nothing else is set
	Told []float64 // logprobs of the tokens that the server listed, in its order
	// Unknown marks those of them that the vocabulary does not have, or has twice.
	Unknown []bool
	Own     float64 // logprob of the token that stands there
}
