package serve

import "encoding/json"

// The API's own shapes, as OpenAI's clients read them.

type usage struct {
	Prompt  int `json:"prompt_tokens"`
	Answer  int `json:"completion_tokens"`
	Total   int `json:"total_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

type response struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	System  string `json:"system_fingerprint"`
	Choices any    `json:"choices"`
	Usage   *usage `json:"usage,omitempty"`
	// PromptLogprobs is vLLM's extension: null for the first token, then a map by
	// token id for each.
	PromptLogprobs []map[string]promptLogprob `json:"prompt_logprobs,omitempty"`
}

type promptLogprob struct {
	Logprob number `json:"logprob"`
	Rank    int    `json:"rank"`
	Token   string `json:"decoded_token"`
}

type chatChoice struct {
	Index    int           `json:"index"`
	Message  *message      `json:"message,omitempty"`
	Delta    *message      `json:"delta,omitempty"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Reason   *string       `json:"finish_reason"`
	Stopped  any           `json:"stop_reason,omitempty"` // the stop text or token, vLLM's extension
}

type message struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Calls     []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	Index    *int   `json:"index,omitempty"` // in streams
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatLogprobs struct {
	Content []tokenLogprob `json:"content"`
}

type tokenLogprob struct {
	Token   string         `json:"token"`
	Logprob number         `json:"logprob"`
	Bytes   []int          `json:"bytes"`
	Top     []tokenLogprob `json:"top_logprobs,omitempty"`
}

type completionChoice struct {
	Index    int                 `json:"index"`
	Text     string              `json:"text"`
	Logprobs *completionLogprobs `json:"logprobs"`
	Reason   *string             `json:"finish_reason"`
	Stopped  any                 `json:"stop_reason,omitempty"`
}

type completionLogprobs struct {
	Tokens   []string            `json:"tokens"`
	Logprobs []*number           `json:"token_logprobs"`
	Top      []map[string]number `json:"top_logprobs"`
	Offsets  []int               `json:"text_offset"`
}

type errorBody struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// field is one field of an object whose order is kept.
type field struct {
	name  string
	value json.RawMessage
}
