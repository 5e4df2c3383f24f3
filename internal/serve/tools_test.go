package serve

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func kind(name string) *dialect {
	for i := range dialects {
		if dialects[i].name == name {
			return &dialects[i]
		}
	}
	return nil
}

func TestSplitter(t *testing.T) {
	for name, c := range map[string]struct {
		s    splitter
		text string
		want pieces
	}{
		"plain":            {splitter{}, "a < b <think>", pieces{content: "a < b <think>"}},
		"reasoning":        {splitter{reason: true}, "<think>hm</think>\n\nyes", pieces{reasoning: "hm", content: "yes"}},
		"begun in prompt":  {splitter{reason: true, thinking: true}, "hm</think>yes", pieces{reasoning: "hm", content: "yes"}},
		"not at its start": {splitter{reason: true}, "yes <think>", pieces{content: "yes <think>"}},
		"cut in reasoning": {splitter{reason: true, thinking: true}, "hm</thi", pieces{reasoning: "hm</thi"}},
		"glm": {splitter{dialect: kind("glm"), prefix: "c"}, "I look.\n<tool_call>weather<arg_key>city</arg_key><arg_value>Paris \"x\"</arg_value><arg_key>days</arg_key><arg_value>3</arg_value></tool_call>\n<tool_call>now</tool_call>",
			pieces{content: "I look.\n", calls: []call{{"c-0", "weather", `{"city": "Paris \"x\"", "days": 3}`}, {"c-1", "now", "{}"}}}},
		"hermes": {splitter{dialect: kind("hermes"), prefix: "c"}, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": 2}}\n</tool_call>",
			pieces{calls: []call{{"c-0", "f", `{"b": 1, "a": 2}`}}}},
		"kimi": {splitter{dialect: kind("kimi"), prefix: "c"}, "Ok<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_calls_section_end|>",
			pieces{content: "Ok", calls: []call{{"functions.f:0", "f", `{"a": 1}`}}}},
		"no call":      {splitter{dialect: kind("hermes"), prefix: "c"}, "<tool_call>nonsense</tool_call> end", pieces{content: "<tool_call>nonsense</tool_call> end"}},
		"never closed": {splitter{dialect: kind("hermes"), prefix: "c"}, "a<tool_call>{\"name\"", pieces{content: "a<tool_call>{\"name\""}},
		"after reasoning": {splitter{reason: true, dialect: kind("hermes"), prefix: "c"}, "<think>x<tool_call></think><tool_call>{\"name\":\"f\"}</tool_call>",
			pieces{reasoning: "x<tool_call>", calls: []call{{"c-0", "f", "{}"}}}},
	} {
		for _, size := range []int{1, 2, 3, 7, 1000} { // however the text comes
			s := c.s
			var got pieces
			for rest := c.text; rest != ""; {
				n := min(size, len(rest))
				got.join(s.add(rest[:n], false))
				rest = rest[n:]
			}
			got.join(s.add("", true))
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(pieces{}, call{})); diff != "" {
				t.Errorf("%s, %d bytes at once:\n%s", name, size, diff)
			}
		}
	}
}

func TestStopper(t *testing.T) {
	for _, c := range []struct{ text, want, stop string }{
		{"abcd", "abcd", ""}, {"abSTOPcd", "ab", "STOP"}, {"abSTO", "abSTO", ""}, {"xENDSTOP", "x", "END"}, {"SSTOP", "S", "STOP"},
	} {
		for size := 1; size <= len(c.text); size++ {
			s := stopper{stops: []string{"STOP", "END"}}
			got, stop := "", ""
			for rest := c.text; rest != "" && stop == ""; {
				n := min(size, len(rest))
				var show string
				show, stop = s.add(rest[:n])
				got += show
				rest = rest[n:]
			}
			if stop == "" {
				got += s.rest()
			}
			if got != c.want || stop != c.stop {
				t.Errorf("%q, %d bytes at once: %q, %q, want %q, %q", c.text, size, got, stop, c.want, c.stop)
			}
		}
	}
}

// FuzzSplitter: nothing of an answer is lost, and how it comes in pieces does not
// matter.
func FuzzSplitter(f *testing.F) {
	f.Add("<think>a</think><tool_call>f<arg_key>k</arg_key><arg_value>1</arg_value></tool_call>b", uint8(3))
	f.Add("<tool_call>{\"name\":\"f\"}</tool_call>", uint8(1))
	f.Add("<tool_call>", uint8(2))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		for i := range dialects {
			whole := splitter{reason: true, dialect: &dialects[i]}
			want := whole.add(text, true)
			parts := splitter{reason: true, dialect: &dialects[i]}
			var got pieces
			for rest := text; rest != ""; {
				n := min(int(size)+1, len(rest))
				got.join(parts.add(rest[:n], false))
				rest = rest[n:]
			}
			got.join(parts.add("", true))
			if len(got.calls) == 0 && len(want.calls) == 0 && !strings.Contains(text, "<think>") && len(dialects[i].outer) == 0 && got.content != text {
				t.Fatalf("%q became %q", text, got.content)
			}
			if len(got.calls) != len(want.calls) {
				t.Fatalf("%q: %d calls at once, %d in pieces", text, len(want.calls), len(got.calls))
			}
		}
	})
}
