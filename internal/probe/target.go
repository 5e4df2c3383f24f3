package probe

// Target is what is known of the server before anything is asked of its model.
// Zero means unknown throughout.
type Target struct {
	URL             string
	Engine, Version string // "sglang", "vllm", "llamacpp", "trtllm", "lmdeploy", "shakedown"
	Model           string // the name that requests carry
	Root            string // the path or repository behind it
	Started         int64  // when it says it started, seconds since 1970
	Build           string // build information, where the engine tells it

	Context  int // tokens of one request, prompt and answer
	Pool     int // tokens of the KV cache of all requests
	Trained  int // tokens that the model was made for
	Page     int // tokens of a page of the KV cache
	Chunk    int // tokens of a prompt that are computed at once
	Running  int // requests that are computed at the same time
	TopK     int // index_topk: positions that sparse attention reads
	Window   int // sliding window
	Original int // context before rope scaling
	Vocab    int

	Has Features
	// Settings are what the server itself says of its effective settings, by the
	// engine's own names.
	Settings map[string]string
	// Sources says where each of the above was read: a field's name to the endpoint
	// or file and its own name there.
	Sources map[string]string
	// Local is what the user's copy of the model says (--model-dir); nil for none.
	Local *Local
	// Expected is what the server ought to be (--expect).
	Expected Expected
}

// Features are the ways in which this server can be asked. They are the engine's
// own, corrected by what the server answered.
type Features struct {
	Chat, Completions   bool
	TokenPrompts        bool // token ids as the prompt of a completion
	IDs                 bool // token ids in logprobs
	Tokenize            bool
	Logprobs            bool
	Top                 int  // likeliest tokens told at most
	Echo                bool // logprobs of the prompt
	NoCache             bool // a request can be kept from the prefix cache
	IgnoreEOS           bool
	Health, Metrics     bool
	Tools, Schema, Seed bool
}

// Local is what a copy of the model's files says. The counts are those of our own
// rendering and tokenizer. The functions are pure; nil for what the files lack.
type Local struct {
	Dir                                    string
	Context, TopK, Window, Original, Vocab int
	// Render is a conversation through the model's own template, with the beginning
	// of the answer; ok is false when the template refuses it.
	Render func([]Message) (text string, ok bool)
	// Count is the tokens of that rendering.
	Count func([]Message) (n int, ok bool)
	// Tokenize is the tokens of raw text, with those that the model wants before it.
	Tokenize func(text string) []int
	Missing  string // why something is nil
}

// Learn takes over what the server did not say of its model, and the copy of the
// model's files does.
func (t *Target) Learn(l *Local) {
	t.Local = l
	if l == nil {
		return
	}
	if t.Sources == nil {
		t.Sources = map[string]string{}
	}
	for name, v := range map[string]struct {
		into *int
		from int
	}{
		"Trained": {&t.Trained, l.Context}, "TopK": {&t.TopK, l.TopK}, "Window": {&t.Window, l.Window},
		"Original": {&t.Original, l.Original}, "Vocab": {&t.Vocab, l.Vocab},
	} {
		if *v.into == 0 && v.from > 0 {
			*v.into = v.from
			t.Sources[name] = l.Dir
		}
	}
}

// Expected is what the user said of the server; empty fields were not said.
type Expected struct {
	Model, Engine, Version string
	Context                int
	StartedAfter           int64 // seconds since 1970
}
