package chat_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/tokenizer"
)

// at is when the tests take place.
var at = time.Date(2026, 3, 7, 9, 5, 2, 0, time.UTC)

func render(t *testing.T, template, messages string, change ...func(*chat.Request)) (string, error) {
	t.Helper()
	ts, err := chat.New(map[string]string{"default": template}, map[string]string{"bos_token": "<s>"})
	if err != nil {
		t.Fatal(err)
	}
	r := chat.Request{Messages: json.RawMessage(messages), Now: at}
	for _, c := range change {
		c(&r)
	}
	return ts.Render(r)
}

func TestRender(t *testing.T) {
	const hello = `[{"role":"user","content":"Hi"},{"role":"assistant","content":"Ho"}]`
	tools := func(r *chat.Request) {
		r.Tools = json.RawMessage(`[{"type":"function","function":{"name":"f","z":1,"a":1.0,"big":1e20,"t":"<é>\"\u2028","n":null,"l":[]}}]`)
	}
	for name, c := range map[string]struct {
		template, want string
		change         func(*chat.Request)
	}{
		"blocks":            {"{% for m in messages %}\n  {% if true %}\n{{ m.role }}: {{ m['content'] }}\n  {% endif %}\n{% endfor %}", "user: Hi\nassistant: Ho\n", nil},
		"loop controls":     {"{% for m in messages %}{% if m.role == 'assistant' %}{% break %}{% endif %}{{ m.content }}{% endfor %}", "Hi", nil},
		"generation prompt": {"{{ bos_token }}{% if add_generation_prompt %}A:{% endif %}", "<s>A:", func(r *chat.Request) { r.GenerationPrompt = true }},
		"switch": {"{% if enable_thinking is defined and not enable_thinking %}off{% else %}on{% endif %}", "off", func(r *chat.Request) {
			r.Extra = map[string]json.RawMessage{"enable_thinking": json.RawMessage("false")}
		}},
		"no tools": {"{% if tools %}tools{% else %}none{% endif %}", "none", nil},
		"tools": {"{% for t in tools %}{{ t | tojson }}{% endfor %}",
			`{"type": "function", "function": {"name": "f", "z": 1, "a": 1.0, "big": 1e+20, "t": "<é>\"` + "\u2028" + `", "n": null, "l": []}}`, tools},
		"indent":   {"{{ messages[0] | tojson(indent=2) }}", "{\n  \"role\": \"user\",\n  \"content\": \"Hi\"\n}", nil},
		"ascii":    {`{{ "é𝔘" | tojson(ensure_ascii=True) }}`, `"\u00e9\ud835\udd18"`, nil},
		"not code": {`{# a | tojson #}{% raw %}{{ b | tojson }}{% endraw %} | tojson {{ 'c | tojson' }}{{ '"' | tojson }}`, `{{ b | tojson }} | tojson c | tojson"\""`, nil},
		"sorted":   {"{{ messages[0] | tojson(sort_keys=True, separators=(',', ':')) }}", `{"content":"Hi","role":"user"}`, nil},
		"time":     {"{{ strftime_now('%d %b %Y, %A %-d.%-m., %I:%M %p %%') }}", "07 Mar 2026, Saturday 7.3., 09:05 AM %", nil},
	} {
		change := c.change
		if change == nil {
			change = func(*chat.Request) {}
		}
		got, err := render(t, c.template, hello, change)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v\nwant %q", name, got, err, c.want)
		}
	}
}

func TestRenderErrors(t *testing.T) {
	_, err := render(t, "{{ raise_exception('roles must alternate') }}", "[]")
	var raised *chat.RaisedError
	if !errors.As(err, &raised) || raised.Message != "roles must alternate" {
		t.Errorf("%v, want the template's own words", err)
	}
	for name, c := range map[string]struct{ template, messages, want string }{
		"no list":       {"", `{"role":"user"}`, "messages: not a list"},
		"no JSON":       {"", `[{"role":`, "messages: not JSON"},
		"more text":     {"", `[] []`, "text behind the value"},
		"deep":          {"", strings.Repeat("[", 500) + strings.Repeat("]", 500), "levels"},
		"unknown time":  {"{{ strftime_now('%Q') }}", "[]", "%Q is not supported"},
		"undefined":     {"{{ nothing | tojson }}", "[]", "undefined"},
		"other filters": {"{{ messages | frobnicate }}", "[]", "frobnicate"},
	} {
		if _, err := render(t, c.template, c.messages); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := chat.New(map[string]string{"default": "{% if %}"}, nil); err == nil {
		t.Error("a broken template is accepted")
	}
}

func TestLoad(t *testing.T) {
	config := func(template string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"bos_token":{"content":"<b>"},"eos_token":"<e>","pad_token":null,"chat_template":` + template + `}`)}
	}
	req := chat.Request{Messages: json.RawMessage(`[]`), Now: at}
	withTools := req
	withTools.Tools = json.RawMessage(`[{}]`)
	for name, c := range map[string]struct {
		files fstest.MapFS
		req   chat.Request
		want  string
	}{
		"in the configuration":   {fstest.MapFS{"tokenizer_config.json": config(`"{{ bos_token }}{{ eos_token }}"`)}, req, "<b><e>"},
		"file before it":         {fstest.MapFS{"tokenizer_config.json": config(`"x"`), "chat_template.jinja": {Data: []byte("{{ bos_token }}!")}}, req, "<b>!"},
		"file alone":             {fstest.MapFS{"chat_template.jinja": {Data: []byte("plain")}}, req, "plain"},
		"named":                  {fstest.MapFS{"tokenizer_config.json": config(`[{"name":"default","template":"d"},{"name":"tool_use","template":"t"}]`)}, req, "d"},
		"named, for tools":       {fstest.MapFS{"tokenizer_config.json": config(`[{"name":"default","template":"d"},{"name":"tool_use","template":"t"}]`)}, withTools, "t"},
		"one for all, and tools": {fstest.MapFS{"tokenizer_config.json": config(`"d"`)}, withTools, "d"},
	} {
		ts, err := chat.Load(c.files)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := ts.Render(c.req); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
	for name, files := range map[string]fstest.MapFS{
		"nothing": {}, "no template": {"tokenizer_config.json": {Data: []byte(`{"bos_token":"<s>"}`)}},
	} {
		if _, err := chat.Load(files); !errors.Is(err, chat.ErrNone) {
			t.Errorf("%s: %v, want ErrNone", name, err)
		}
	}
	if _, err := chat.Load(fstest.MapFS{"tokenizer_config.json": config(`7`)}); err == nil || !strings.Contains(err.Error(), "chat_template") {
		t.Errorf("a number as template: %v", err)
	}
	ts, err := chat.Load(fstest.MapFS{"chat_template.jinja": {Data: []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	req.Template = "rag"
	if _, err := ts.Render(req); err == nil || !strings.Contains(err.Error(), `no chat template "rag", but: default`) {
		t.Errorf("unknown name: %v", err)
	}
}

// TestVectors compares prompts and their tokens with the reference.
func TestVectors(t *testing.T) {
	folder := "../../../../shared/oracle/tokenizers/smollm2"
	data, err := os.ReadFile(filepath.Join(folder, "chat.json"))
	if err != nil {
		t.Skip("not run: no reference vectors beside the repository")
	}
	var v struct {
		Cases []struct {
			Messages json.RawMessage
			Add      bool `json:"add_generation_prompt"`
			Prompt   string
			IDs      []int
		}
	}
	if err := json.Unmarshal(data, &v); err != nil || len(v.Cases) < 20 {
		t.Fatalf("%d cases, %v", len(v.Cases), err)
	}
	ts, err := chat.Load(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Load(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range v.Cases {
		got, err := ts.Render(chat.Request{Messages: c.Messages, GenerationPrompt: c.Add, Now: at})
		if err != nil || got != c.Prompt {
			t.Errorf("case %d: %q, %v\nwant %q", i, got, err, c.Prompt)
			continue
		}
		if ids := tok.Encode(got, false); !slices.Equal(ids, c.IDs) {
			t.Errorf("case %d: tokens %v\nwant %v", i, ids, c.IDs)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("{% for m in messages %}{{ m.role }}{{ m | tojson(indent=1) }}{% endfor %}{{ strftime_now('%Y') }}", `[{"role":"user","content":[1,2.5,null,{"a":"é"}]}]`)
	f.Add("{%- set ns = namespace(x=1) -%}{% macro f(a) %}{{ a|trim }}{% endmacro %}{{ f(messages[0].content[:3]) }}", `[{"content":" ab "}]`)
	f.Fuzz(func(t *testing.T, template, messages string) {
		if len(template) > 300 || strings.Contains(template, "range") || strings.Contains(template, "**") || strings.Contains(template, "*") {
			return // a template may write as much as it likes
		}
		ts, err := chat.New(map[string]string{"default": template}, nil)
		if err != nil {
			return
		}
		ts.Render(chat.Request{Messages: json.RawMessage(messages), Now: at})
	})
}
