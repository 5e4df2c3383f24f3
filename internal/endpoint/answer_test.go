package endpoint

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"shakedown/internal/probe"
)

// read puts one answer, or the events of a stream, through a reader.
func read(t testing.TB, a probe.Ask, parts ...string) probe.Answer {
	t.Helper()
	out := newAnswer()
	r := &reader{ask: &a, answer: &out, top: max(0, a.Top)}
	for _, part := range parts {
		var v apiAnswer
		odd, err := readJSON([]byte(part), &v)
		if err != nil {
			t.Fatalf("%s: %v", part, err)
		}
		r.note(odd)
		r.add(&v, len(parts) > 1)
	}
	r.finish()
	return out
}

func lp(v float64) probe.Logprob { return probe.Logprob{Value: v} }

var none = probe.Logprob{Null: true}

// TestLenient: where servers differ, the answer is read, and what is odd is told.
func TestLenient(t *testing.T) {
	two := probe.Ask{Top: 2}
	for _, tc := range []struct {
		name string
		ask  probe.Ask
		in   []string
		want probe.Choice
		odd  string
	}{
		{"Python's numbers", two, []string{`{"choices":[{"text":"NaN","logprobs":{"tokens":["a","b","c"],"token_logprobs":[NaN,-Infinity,-1],"top_logprobs":[{"a":NaN,"b":NaN},{"b":-Infinity,"x":-0.5},null]}}]}`},
			probe.Choice{Text: "NaN", Told: true, Tokens: []probe.Token{
				{ID: -1, Text: "a", Logprob: none, Top: []probe.Ranked{{ID: -1, Text: "a", Logprob: none}, {ID: -1, Text: "b", Logprob: none}}},
				{ID: -1, Text: "b", Logprob: lp(math.Inf(-1)), Top: []probe.Ranked{{ID: -1, Text: "x", Logprob: lp(-0.5)}, {ID: -1, Text: "b", Logprob: lp(math.Inf(-1))}}},
				{ID: -1, Text: "c", Logprob: lp(-1)}}}, "NaN or Infinity"},
		{"null", two, []string{`{"choices":[{"message":{"content":null,"reasoning":"r"},"logprobs":{"content":[{"id":0,"token":"","bytes":[],"logprob":null,"top_logprobs":[{"id":0,"token":"","logprob":null}]}]},"finish_reason":"length"}],"usage":null}`},
			probe.Choice{Reasoning: "r", Finish: "length", Told: true, Tokens: []probe.Token{{ID: 0, Bytes: []byte{}, Logprob: none, Top: []probe.Ranked{{ID: 0, Logprob: none}}}}}, ""},
		{"numbers as texts, and none at all", two, []string{`{"choices":[{"logprobs":{"content":[{"token":"a","logprob":"-1.5"},{"token":"b"},{"token":"c","logprob":{}}]}}]}`},
			probe.Choice{Told: true, Tokens: []probe.Token{{ID: -1, Text: "a", Logprob: lp(-1.5)}, {ID: -1, Text: "b", Logprob: none}, {ID: -1, Text: "c", Logprob: none}}}, ""},
		{"chats' form in a completion", two, []string{`{"choices":[{"text":" x","logprobs":{"content":[{"id":7,"token":" x","bytes":[32,120],"logprob":-1,"top_logprobs":[{"id":7,"token":" x","bytes":[32,120],"logprob":-1}]}]}}]}`},
			probe.Choice{Text: " x", Told: true, Tokens: []probe.Token{{ID: 7, Text: " x", Bytes: []byte(" x"), Logprob: lp(-1), Top: []probe.Ranked{{ID: 7, Text: " x", Logprob: lp(-1)}}}}}, ""},
		{"more numbers than tokens", two, []string{`{"choices":[{"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[-1,-2]}}]}`},
			probe.Choice{Text: "a", Told: true, Tokens: []probe.Token{{ID: -1, Text: "a", Logprob: lp(-1)}}}, "1 tokens have 2 logprobs"},
		{"fields of the wrong kind", two, []string{`{"choices":[{"text":7,"finish_reason":"stop"}],"usage":"none"}`}, probe.Choice{Finish: "stop"}, "choices.text is a number"},
		{"bytes that are none", two, []string{`{"choices":[{"logprobs":{"content":[{"token":"a","bytes":[300],"logprob":-1}]}}]}`},
			probe.Choice{Told: true, Tokens: []probe.Token{{ID: -1, Text: "a", Logprob: lp(-1)}}}, "a byte of a token is 300"},
		{"arguments that are JSON", two, []string{`{"choices":[{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}}]}`},
			probe.Choice{Calls: []probe.Call{{Name: "f", Arguments: `{"a":1}`}}}, "no text but JSON"},
		{"a call in pieces", two, []string{
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"function":{"name":"g","arguments":"{}"}}]}}]}`},
			probe.Choice{Calls: []probe.Call{{Name: "f", Arguments: `{"a":1}`}, {Name: "g", Arguments: "{}"}}}, ""},
		{"calls that take turns", two, []string{
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"name":"g","arguments":"["}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}},{"index":1,"function":{"arguments":"]"}},{"index":2,"function":{"name":"h","arguments":"1"}}]}}]}`},
			probe.Choice{Calls: []probe.Call{{Name: "f", Arguments: "{}"}, {Name: "g", Arguments: "[]"}, {Name: "h", Arguments: "1"}}}, ""},
		{"a call without numbers", two, []string{
			`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}`},
			probe.Choice{Calls: []probe.Call{{Name: "f", Arguments: `{}`}}}, ""},
		{"numbers out of any order", two, []string{`{"choices":[{"index":-1,"text":"a"},{"index":9999999,"text":"b"},{"index":0,"message":{"tool_calls":[{"index":7}]},"text":"c"}]}`},
			probe.Choice{Text: "c", Calls: []probe.Call{{}}}, "number 9999999"},
		{"the guard of SGLang", two, []string{`{"choices":[{"text":"a","finish_reason":"stop","matched_stop":"NaN happened"}]}`}, probe.Choice{Text: "a", Finish: "stop"}, `"NaN happened"`},
		{"accepted drafts (llama.cpp)", two, []string{`{"choices":[{"text":" x y","logprobs":{"content":[{"id":7,"token":" x","bytes":[32,120],"logprob":-1,"top_logprobs":[{"id":7,"token":" x","bytes":[32,120],"logprob":-1}]},{"id":8,"token":" y","bytes":[32,121],"logprob":0.0,"top_logprobs":[]}]}}]}`},
			probe.Choice{Text: " x y"}, "1 of 2 tokens have a logprob of 0"},
		{"sure, without alternatives anywhere", two, []string{`{"choices":[{"text":" y","logprobs":{"content":[{"id":8,"token":" y","bytes":[32,121],"logprob":0.0,"top_logprobs":[]}]}}]}`},
			probe.Choice{Text: " y", Told: true, Tokens: []probe.Token{{ID: 8, Text: " y", Bytes: []byte(" y")}}}, ""},
		{"ids by name", two, []string{`{"choices":[{"text":" x","logprobs":{"tokens":["token_id:7"],"token_logprobs":[-1],"top_logprobs":[{"token_id:7":-1,"token_id:9":-2}]}}]}`},
			probe.Choice{Text: " x", Told: true, Tokens: []probe.Token{{ID: 7, Text: "token_id:7", Logprob: lp(-1), Top: []probe.Ranked{{ID: 7, Text: "token_id:7", Logprob: lp(-1)}, {ID: 9, Text: "token_id:9", Logprob: lp(-2)}}}}}, ""},
		{"two tokens with one text", two, []string{`{"choices":[{"logprobs":{"tokens":["\ufffd"],"token_logprobs":[-1],"top_logprobs":[{"\ufffd":-1,"\ufffd":-2}]}}]}`},
			probe.Choice{Told: true, Tokens: []probe.Token{{ID: -1, Text: "\ufffd", Logprob: lp(-1), Top: []probe.Ranked{{ID: -1, Text: "\ufffd", Logprob: lp(-1)}, {ID: -1, Text: "\ufffd", Logprob: lp(-2)}}}}}, ""},
		{"the token itself beside the likeliest", two, []string{`{"choices":[{"logprobs":{"tokens":["z"],"token_logprobs":[-9],"top_logprobs":[{"z":-9,"a":-1,"b":-2}]}}]}`},
			probe.Choice{Told: true, Tokens: []probe.Token{{ID: -1, Text: "z", Logprob: lp(-9), Top: []probe.Ranked{{ID: -1, Text: "a", Logprob: lp(-1)}, {ID: -1, Text: "b", Logprob: lp(-2)}}}}}, ""},
		{"the token itself left out", two, []string{`{"choices":[{"logprobs":{"content":[{"token":"z","logprob":-1,"top_logprobs":[{"token":"b","logprob":-3},{"token":"a","logprob":-2}]}]}}]}`},
			probe.Choice{Told: true, Tokens: []probe.Token{{ID: -1, Text: "z", Logprob: lp(-1), Top: []probe.Ranked{{ID: -1, Text: "z", Logprob: lp(-1)}, {ID: -1, Text: "a", Logprob: lp(-2)}}}}}, ""},
	} {
		got := read(t, tc.ask, tc.in...)
		if len(got.Choices) == 0 {
			t.Errorf("%s: no choice", tc.name)
			continue
		}
		if diff := cmp.Diff(tc.want, got.Choices[0], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		if !strings.Contains(got.Odd, tc.odd) || (got.Odd == "") != (tc.odd == "") {
			t.Errorf("%s: odd is %q, want ...%s...", tc.name, got.Odd, tc.odd)
		}
	}
}

// TestCounts: what the server counts, and what it does not say.
func TestCounts(t *testing.T) {
	for in, want := range map[string][3]int{
		`{"choices":[{}]}`: {-1, -1, -1},
		`{"choices":[{}],"usage":{"prompt_tokens":5,"completion_tokens":null,"prompt_tokens_details":null}}`:             {5, -1, -1},
		`{"choices":[{}],"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`: {5, 2, 4},
		`{"choices":[{}],"usage":{"prompt_tokens":-5,"completion_tokens":0},"timings":{"cache_n":3}}`:                    {-1, 0, 3},
	} {
		a := read(t, probe.Ask{}, in)
		if got := [3]int{a.PromptCount, a.AnswerCount, a.Cached}; got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}

// TestPromptLogprobs: the prompt's own token is the first, or the one that was sent.
func TestPromptLogprobs(t *testing.T) {
	const in = `{"choices":[{"text":"!","prompt_logprobs":[null,{"3575":{"logprob":-11.7,"rank":3121,"decoded_token":" capital"},"29":{"logprob":-0.8,"rank":1,"decoded_token":"-"}},{"5":null,"6":-2}],"logprobs":{"tokens":["token_id:6"],"token_logprobs":[-1],"top_logprobs":[{"token_id:6":-1}]}}]}`
	a := read(t, probe.Ask{Top: 2, Echo: true, Tokens: []int{504, 3575, 6}}, in)
	want := []probe.Token{
		{ID: 504, Logprob: none},
		{ID: 3575, Text: " capital", Logprob: lp(-11.7), Top: []probe.Ranked{{ID: 29, Text: "-", Logprob: lp(-0.8)}, {ID: 3575, Text: " capital", Logprob: lp(-11.7)}}},
		{ID: 6, Logprob: lp(-2), Top: []probe.Ranked{{ID: 6, Logprob: lp(-2)}, {ID: 5, Logprob: none}}},
	}
	if diff := cmp.Diff(want, a.Prompt); diff != "" || a.Odd != "" {
		t.Error(diff, a.Odd)
	}
	if a := read(t, probe.Ask{Top: 2, Echo: true, Tokens: []int{1, 2}}, in); !strings.Contains(a.Odd, "2 tokens and 3 logprobs") {
		t.Errorf("a prompt of other tokens: %q", a.Odd)
	}
	if a := read(t, probe.Ask{Top: 2, Echo: true, Tokens: []int{504, 7, 6}}, in); !strings.Contains(a.Odd, "without its token 7") || !a.Prompt[1].Logprob.Null {
		t.Errorf("a token that is not told: %q", a.Odd)
	}
	// The answer's tokens have no ids: then the prompt's are forgotten.
	text := strings.ReplaceAll(in, "token_id:6", " x")
	if a := read(t, probe.Ask{Top: 2, Echo: true, Prompt: "x"}, text); a.Prompt[1].ID != -1 || a.Prompt[1].Text != " capital" || a.Prompt[1].Top[0].ID != -1 {
		t.Errorf("%+v", a.Prompt[1])
	}
}

// TestEvents: every form that a stream of events may have.
func TestEvents(t *testing.T) {
	for in, want := range map[string][]string{
		"":                               nil,
		"data: a\n\ndata: b\n\n":         {"a", "b"},
		"data:a\r\n\r\ndata:  b\r\n\r\n": {"a", " b"},
		"data: a\r\rdata: b\r\r":         {"a", "b"},
		": hello\n\nevent: x\nid: 1\ndata: a\n\n": {"a"},
		"data: a\ndata: b\ndata\n\n":              {"a\nb\n"},
		"data: a":                                 {"a"},
		"data: a\n":                               {"a"},
		"\ufeffdata: a\n\n":                       {"a"},
		"\n\n\ndata: a\n\n\n\n":                   {"a"},
		"datum: a\n\ndata: b\n\n":                 {"b"},
		"data: \n\n":                              {""},
		"retry: 5\n\n: ping\n\n":                  nil,
	} {
		e := newEvents(strings.NewReader(in))
		var got []string
		for {
			data, err := e.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%q: %v", in, err)
			}
			got = append(got, string(data))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	const in = `# HELP a text
# TYPE a gauge
a{x="1",y="a\"b\\c\nd}"} 1.5
a{x="2"} 2 1700000000
b 7
nan NaN
inf{} +Inf
h_bucket{le="1"} 5
h_bucket{le="+Inf"} 9
h_sum 3
h_count 9
s{quantile="0.5"} 4
broken{x="1 3
9bad 1
c
`
	m, strange, ok := sums([]byte(in))
	if !ok || strange != 3 || m["a"] != 3.5 || m["b"] != 7 || !math.IsNaN(m["nan"]) || !math.IsInf(m["inf"], 1) || m["h_sum"] != 3 || m["h_count"] != 9 {
		t.Errorf("%v, %d strange lines, %v", m, strange, ok)
	}
	if _, ok := m["h_bucket"]; ok || len(m) != 6 {
		t.Errorf("%v", m)
	}
}

func TestErrors(t *testing.T) {
	for in, want := range map[string]string{
		`{"error":{"message":"a","type":"x","code":400}}`: "a",
		`{"error":"b"}`: "b",
		`{"object":"error","message":"c","code":400}`: "c",
		`{"detail":"d"}`: "d",
		`{"detail":[{"loc":["body"],"msg":"e"}]}`: `[{"loc":["body"],"msg":"e"}]`,
		`{"detail":{"error":{"message":"f"}}}`:    `{"error":{"message":"f"}}`,
		`<html><title> g  h </title></html>`:      `a web page: "g h"`,
		`plain words`:                             "plain words",
		``:                                        "HTTP 500 Internal Server Error",
		`{"error":{"message":5}}`:                 `{"error":{"message":5}}`,
	} {
		if got := errorWords(&reply{status: 500, body: []byte(in)}); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: a\n\ndata: b\n\n", ": c\r\ndata:x\rdata:y\r\n\r\n", "data: [DONE]", "\ufeffdata: a"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		e := newEvents(strings.NewReader(string(in)))
		total := 0
		for {
			data, err := e.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			total += len(data)
		}
		if total > len(in) {
			t.Errorf("%d bytes of data from %d", total, len(in))
		}
	})
}

// FuzzAnswer: no answer can panic, and what is kept is bounded.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"choices":[{"index":0,"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[NaN],"top_logprobs":[{"a":-Infinity}]}}],"usage":{"prompt_tokens":1}}`,
		`{"choices":[{"message":{"content":"a","tool_calls":[{"index":2,"function":{"name":"f","arguments":"{}"}}]},"logprobs":{"content":[{"id":1,"token":"a","bytes":[97],"logprob":-1,"top_logprobs":[{"token":"b","logprob":null}]}]}}]}`,
		`{"choices":[{"prompt_logprobs":[null,{"5":{"logprob":-1,"decoded_token":"x"}}],"prompt_token_ids":[4,5]}]}`,
		`{"text":"a","meta_info":{"finish_reason":{"type":"stop","matched":"NaN happened"},"input_token_logprobs":[[null,1,"a"]],"input_top_logprobs":[null],"output_token_logprobs":[[-1,2,null]],"output_top_logprobs":[[[-1,2,null],[-2]]]}}`,
		`[{"meta_info":{}},{"meta_info":{"completion_tokens":5}}]`,
		`{"error":{"message":"x","code":400}}`, `{"tokens":[1,2]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}},{"index":1,"function":{"arguments":"[","name":"g"}}]}}]}`,
	} {
		f.Add([]byte(s+"\n"+s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, in []byte, echoed bool) {
		parts := func(r *reader, data []byte) error {
			for range 2 {
				for line := range bytes.Lines(data) {
					var v apiAnswer
					if _, err := readJSON(line, &v); err == nil {
						r.add(&v, true)
					}
				}
			}
			return nil
		}
		for _, r := range []func(*reader, []byte) error{parts, readOpenAI, readGenerate, readTokens("tokens"), readHealth, readMetrics} {
			out := newAnswer()
			rd := &reader{ask: &probe.Ask{Echo: true, Top: 3, Tokens: []int{4, 5}}, answer: &out, echoed: echoed, top: 3}
			_ = r(rd, in) // an error is as good as an answer
			rd.finish()
			if len(out.Choices) > maxChoices || len(out.Odd) > maxOdd*(maxWords+200) {
				t.Errorf("%d choices, %d bytes of odd things", len(out.Choices), len(out.Odd))
			}
			for _, c := range out.Choices {
				for _, x := range c.Tokens {
					if len(x.Top) > 3 {
						t.Errorf("%d alternatives", len(x.Top))
					}
				}
			}
		}
		_ = errorWords(&reply{status: 400, body: in})
	})
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte("a{x=\"1\"} 2\nb 3 4\n# c\n"))
	f.Add([]byte("a{x=\"\\\"\\\\\\n\",} +Inf"))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, _, _ := sums(in)
		if len(m) > maxSeries || len(m) > 1+strings.Count(string(in), "\n") {
			t.Errorf("%d names", len(m))
		}
	})
}

// FuzzPlainJSON: what is proper JSON stays as it is in meaning.
func FuzzPlainJSON(f *testing.F) {
	f.Add([]byte(`{"a":NaN,"b":"NaN","c":[-Infinity,"\"NaN"]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, odd := plainJSON(in)
		if json.Valid(in) && (odd || string(out) != string(in)) {
			t.Errorf("%q became %q", in, out)
		}
	})
}
