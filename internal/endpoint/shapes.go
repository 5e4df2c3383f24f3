package endpoint

import "encoding/json"

// The shapes of answers, with the fields of all engines together: a reader that
// takes them all survives a server that answers in another one's shape, as
// llama.cpp's completions do.

type apiAnswer struct {
	Model   string      `json:"model"`
	Choices []apiChoice `json:"choices"`
	Usage   *apiUsage   `json:"usage"`
	Error   json.RawMessage
	// PromptLogprobs is where vLLM's chats have them.
	PromptLogprobs []promptRanking `json:"prompt_logprobs"`
	PromptIDs      []int           `json:"prompt_token_ids"`
	Timings        *apiTimings     `json:"timings"`
}

type apiUsage struct {
	Prompt  *int `json:"prompt_tokens"`
	Answer  *int `json:"completion_tokens"`
	Details *struct {
		Cached *int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// apiTimings are llama.cpp's.
type apiTimings struct {
	Cached *int `json:"cache_n"`
}

type apiChoice struct {
	Index          int             `json:"index"`
	Text           *string         `json:"text"`
	Message        *apiMessage     `json:"message"`
	Delta          *apiMessage     `json:"delta"`
	Logprobs       *apiLogprobs    `json:"logprobs"`
	Finish         *string         `json:"finish_reason"`
	Matched        any             `json:"matched_stop"` // SGLang: what ended the answer
	IDs            []int           `json:"token_ids"`
	PromptLogprobs []promptRanking `json:"prompt_logprobs"`
	PromptIDs      []int           `json:"prompt_token_ids"`
}

type apiMessage struct {
	Content *string `json:"content"`
	// Reasoning has two names: the second is vLLM's since 0.12.
	ReasoningContent *string   `json:"reasoning_content"`
	Reasoning        *string   `json:"reasoning"`
	Refusal          *string   `json:"refusal"`
	Calls            []apiCall `json:"tool_calls"`
}

type apiCall struct {
	Index    *int `json:"index"`
	Function struct {
		Name      *string         `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a text; an object from some servers
	} `json:"function"`
}

// apiLogprobs is OpenAI's form for chats (Content) or for completions (the
// others).
type apiLogprobs struct {
	Content   []apiToken `json:"content"`
	Reasoning []apiToken `json:"reasoning"`
	Tokens    []*string  `json:"tokens"`
	Logprobs  []number   `json:"token_logprobs"`
	Top       []ranking  `json:"top_logprobs"`
}

type apiToken struct {
	ID      *int       `json:"id"` // llama.cpp
	Token   string     `json:"token"`
	Bytes   []int      `json:"bytes"`
	Logprob *number    `json:"logprob"`
	Top     []apiToken `json:"top_logprobs"`
}
