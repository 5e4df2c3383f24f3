package probe

// Signs. A verdict names what it saw; causes.go says which causes fit.
const (
	// SignNaN: logprobs that are null or NaN, or the server's own words for them.
	SignNaN Sign = "nan"
	// SignNaNLater: the first tokens are finite, NaN comes behind them.
	SignNaNLater Sign = "nan-later"
	// SignNaNSampled: greedy answers, and a sampled request fails or ends the server.
	SignNaNSampled Sign = "nan-sampled"
	// SignCollapse: one token again and again without any doubt, or only "!".
	SignCollapse Sign = "collapse"
	// SignFlat: every token is as likely as every other: the weights say nothing.
	SignFlat Sign = "flat"
	// SignEmpty: empty answers although tokens were counted.
	SignEmpty Sign = "empty"
	// SignNonsense: sure of itself and wrong in what every trained model knows.
	SignNonsense Sign = "nonsense"
	// SignDecode: what was decoded is not what a prefill of the same tokens says.
	SignDecode Sign = "decode-differs"
	// SignDecodeLater: it is, up to some token, and not behind it.
	SignDecodeLater Sign = "decode-differs-later"
	// SignPrefix: another answer when the prefix cache is hit.
	SignPrefix Sign = "prefix-differs"
	// SignBatch: another answer when other requests run.
	SignBatch Sign = "batch-differs"
	// SignRepeat: the same request gives another answer each time, far beyond
	// rounding.
	SignRepeat Sign = "repeat-differs"
	// SignCancelled: other answers change when a client leaves.
	SignCancelled Sign = "cancel-disturbs"
	// SignLong: right for short texts, wrong behind a limit of the model.
	SignLong Sign = "long-differs"
	// SignTruncated: a part of a long prompt is dropped in silence.
	SignTruncated Sign = "truncated"
	// SignCapped: less context than was promised or asked for.
	SignCapped Sign = "capped"
	// SignOracle: not what the exact engine computes from the same checkpoint.
	SignOracle Sign = "oracle-differs"
	// SignAgainst: not what the other server says.
	SignAgainst Sign = "against-differs"
	// SignTemplate: raw text is answered rightly, a chat is not, or its prompt is not
	// what the model's own template makes of it.
	SignTemplate Sign = "template"
	// SignChatFails: chats are refused with an error, raw text is answered.
	SignChatFails Sign = "chat-fails"
	// SignPlainFails: the request without sampling fields fails, with them it works.
	SignPlainFails Sign = "plain-fails"
	// SignReasoning: the answer or a tool call ends in the reasoning field, or the
	// reasoning in the answer.
	SignReasoning Sign = "reasoning-lost"
	// SignTools: tool calls come as text.
	SignTools Sign = "tool-calls-lost"
	// SignSchema: structured output does not fit its schema.
	SignSchema Sign = "schema-ignored"
	// SignStream: a stream says something else than the whole answer.
	SignStream Sign = "stream-differs"
	// SignParameter: max_tokens, stop, n or seed has no effect.
	SignParameter Sign = "parameter-ignored"
	// SignDead: the server stopped answering.
	SignDead Sign = "dead"
	// SignHang: requests are taken and never answered, or tokens stop within one.
	SignHang Sign = "hang"
	// SignHealthLies: its health says well, and it does not answer.
	SignHealthLies Sign = "health-lies"
	// SignCounters: its metrics contradict each other.
	SignCounters Sign = "counters-contradict"
	// SignError: errors of the server (HTTP 500) on proper requests.
	SignError Sign = "server-error"
	// SignStale: not the model, version or start that were expected.
	SignStale Sign = "stale"
	// SignSpecial: control tokens show in the text.
	SignSpecial Sign = "special-shown"
)
