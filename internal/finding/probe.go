package finding

// EndpointMsg says which server was probed, and what will be sent to it at most.
// It comes before the first request to the model.
type EndpointMsg struct {
	Message       string      `json:"message"` // "endpoint"
	URL           string      `json:"url"`
	Engine        string      `json:"engine"` // empty: not recognised
	EngineVersion string      `json:"engine_version"`
	Model         string      `json:"model"`
	Root          string      `json:"root,omitempty"` // the path or repository behind the name
	Level         string      `json:"level"`          // quick | default | thorough
	Gentle        bool        `json:"gentle"`
	Bound         Traffic     `json:"bound"` // never more than this is sent
	Facts         []FactEntry `json:"facts"` // limits and page sizes, each with where it was read
	Notes         []string    `json:"notes"` // what could not be read
}

// Traffic is an amount of requests.
type Traffic struct {
	Requests     int     `json:"requests"`
	PromptTokens int     `json:"prompt_tokens"`
	AnswerTokens int     `json:"answer_tokens"`
	Together     int     `json:"together"` // at the same time
	Seconds      float64 `json:"seconds"`
}

// ProbeMsg is one probe with its verdict.
type ProbeMsg struct {
	Message   string     `json:"message"` // "probe"
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Verdict   string     `json:"verdict"` // pass | fail | cant-tell
	Text      string     `json:"text"`
	Threshold string     `json:"threshold,omitempty"` // what was compared with what, and where the bound came from
	Essential bool       `json:"essential"`           // nothing is proven right without it
	Signs     []string   `json:"signs"`
	Exchanges []int      `json:"exchanges"` // numbers of the requests
	Evidence  []Evidence `json:"evidence"`
	Seconds   float64    `json:"seconds"`
}

// ExchangeMsg is one request and its answer as they went over the wire. Keys are
// never part of it.
type ExchangeMsg struct {
	Message string  `json:"message"` // "exchange"
	N       int     `json:"n"`
	Probe   string  `json:"probe"`
	Label   string  `json:"label"`
	Method  string  `json:"method"`
	Path    string  `json:"path"`
	Request string  `json:"request"`
	Status  int     `json:"status"` // 0: no answer
	Answer  string  `json:"answer"`
	Cut     bool    `json:"cut"` // the answer is longer than what is kept
	Failure string  `json:"failure,omitempty"`
	Seconds float64 `json:"seconds"`
}

// ConclusionMsg is what all probes say together.
type ConclusionMsg struct {
	Message string   `json:"message"` // "conclusion"
	Verdict string   `json:"verdict"` // proven right | wrong | can't tell
	Text    string   `json:"text"`
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Open    int      `json:"cant_tell"`
	Sent    Traffic  `json:"sent"`
	Causes  []string `json:"causes"` // classes that fit, best first
	Next    []Remedy `json:"next"`   // the experiments that would decide
}

// BaselineMsg says what differs from an earlier run against the same server.
type BaselineMsg struct {
	Message string    `json:"message"` // "baseline"
	File    string    `json:"file"`
	Verdict string    `json:"verdict"` // of the earlier run; empty: it had none
	Equal   int       `json:"equal"`   // verdicts, facts, settings and greedy answers that are the same
	Changes []Changed `json:"changes"` // most telling first
}

// Changed is one thing that differs. An empty value means that a run did not have it.
type Changed struct {
	Kind string `json:"kind"` // probe | server | answer | setting | fact
	Name string `json:"name"`
	Then string `json:"then"`
	Now  string `json:"now"`
}

func (*BaselineMsg) message()   {}
func (*EndpointMsg) message()   {}
func (*ProbeMsg) message()      {}
func (*ExchangeMsg) message()   {}
func (*ConclusionMsg) message() {}
