package finding

import (
	"encoding/json"
	"math"
	"strconv"
)

// Number is a float that JSON may not be able to hold: NaN and infinities are
// the strings "NaN", "Inf" and "-Inf".
type Number float64

// MarshalJSON writes the shortest decimal that reads back as the same float64.
func (n Number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n), 64), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Number) UnmarshalJSON(b []byte) error {
	s := string(b)
	if len(s) > 1 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	*n = Number(f)
	return err
}

// Numbers are float32 values, written like Number with the digits of a float32.
type Numbers []float32

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Numbers) UnmarshalJSON(b []byte) error {
	var list []Number
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*n = make(Numbers, len(list))
	for i, x := range list {
		(*n)[i] = float32(x)
	}
	return nil
}

// MarshalJSON writes a list.
func (n Numbers) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for i, x := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendNumber(out, float64(x), 32)
	}
	return append(out, ']'), nil
}

func appendNumber(out []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(out, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(out, `"Inf"`...)
	case math.IsInf(x, -1):
		return append(out, `"-Inf"`...)
	}
	return strconv.AppendFloat(out, x, 'g', -1, bits)
}

// Ranked is a token id and its logprob, written as a pair.
type Ranked struct {
	ID      int
	Logprob float32
}

// MarshalJSON writes [id, logprob].
func (r Ranked) MarshalJSON() ([]byte, error) {
	out := strconv.AppendInt([]byte{'['}, int64(r.ID), 10)
	out = append(out, ',')
	return append(appendNumber(out, float64(r.Logprob), 32), ']'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Ranked) UnmarshalJSON(b []byte) error {
	var pair [2]Number
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	r.ID, r.Logprob = int(pair[0]), float32(pair[1])
	return nil
}

// EvalMsg is what a model makes of one prompt. Positions count from 0; layers
// are keys, as decimal numbers.
type EvalMsg struct {
	Message  string             `json:"message"` // "eval"
	Prompt   int                `json:"prompt"`  // number of the prompt, from 0
	Numerics string             `json:"numerics"`
	Text     string             `json:"text,omitempty"`     // the greedy continuation as text, when a tokenizer is known
	Tokens   []int              `json:"tokens"`             // the prompt
	Logits   Numbers            `json:"logits"`             // of the last position of the prompt, one per id
	Logprobs Numbers            `json:"logprobs"`           // entry t: of the prompt's token t+1
	Greedy   []int              `json:"greedy"`             // the continuation
	Top      [][]Ranked         `json:"top"`                // for each token of it the five likeliest
	Words    map[string]string  `json:"words,omitempty"`    // text of the tokens of top, by id, when a tokenizer is known
	Drafts   []int              `json:"drafts,omitempty"`   // entry t: what the MTP layer drafts for position t+2
	Bad      int                `json:"non_finite"`         // logits that are NaN or infinite, of all positions
	Selected map[string][][]int `json:"selected,omitempty"` // positions that each token attends to, ascending
	Router   map[string][][]int `json:"router,omitempty"`   // experts that each token goes to, ascending
}

// Place is one value of one operation.
type Place struct {
	Layer   int    `json:"layer"` // -1 outside of the layers
	Op      string `json:"op"`
	Tensor  string `json:"tensor,omitempty"` // the weight that took part
	Token   int    `json:"token"`            // position
	Element int    `json:"element"`
	Value   Number `json:"value"`
	Other   Number `json:"other"` // of the other numerics, in a comparison
}

// TraceMsg sums up a trace.
type TraceMsg struct {
	Message   string `json:"message"` // "trace"
	Model     string `json:"model"`
	Type      string `json:"model_type"`
	Numerics  string `json:"numerics"`
	Against   string `json:"against,omitempty"`
	Tokens    int    `json:"tokens"`
	Layers    int    `json:"layers"`
	Ops       int    `json:"ops"`
	NonFinite int    `json:"non_finite"` // values
	// FirstBad is the first value that is not finite, in the order of
	// computation; nil when there is none.
	FirstBad *Place `json:"first_bad,omitempty"`
	// FirstApart is the first value that differs at all between two numerics, and
	// Jump the operation behind which the difference grew most; nil when nothing
	// differs or nothing was compared.
	FirstApart *Place  `json:"first_apart,omitempty"`
	Jump       *OpStat `json:"jump,omitempty"`
}

// OpStat is what was seen of one operation of one layer, over all tokens (and
// experts).
type OpStat struct {
	Layer     int    `json:"layer"`
	Op        string `json:"op"`
	Tensor    string `json:"tensor,omitempty"`
	Values    int    `json:"values"`
	NonFinite int    `json:"non_finite"`
	Min       Number `json:"min"` // of the finite values
	Max       Number `json:"max"`
	RMS       Number `json:"rms"`
	// Diff is the RMS of the differences between two numerics over the RMS of
	// the values, and MaxDiff the largest single one; both are 0 without a
	// comparison, and infinite where a value is finite on one side only.
	Diff    Number `json:"diff"`
	MaxDiff Number `json:"max_diff"`
}

// TraceLayerMsg is one layer of a trace: its operations in order. Layer -1
// is what lies before the first layer, and what lies behind the last one follows
// as -1 again.
type TraceLayerMsg struct {
	Message  string   `json:"message"` // "trace-layer"
	Layer    int      `json:"layer"`
	Ops      []OpStat `json:"ops"`
	Selected int      `json:"selected_differ"` // tokens that attend to other positions
	Routed   int      `json:"routed_differ"`   // tokens that go to other experts
}

func (*EvalMsg) message()       {}
func (*TraceMsg) message()      {}
func (*TraceLayerMsg) message() {}
