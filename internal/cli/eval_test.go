package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/finding"
	"shakedown/internal/oracle/oracletest"
)

// runMain runs a whole command line.
func runMain(args ...string) (code int, stdout, stderr string) {
	w, out, errs := newWorld(args...)
	code = Main(context.Background(), *w)
	return code, out.String(), errs.String()
}

func messages(t *testing.T, stream string) []finding.Message {
	t.Helper()
	var all []finding.Message
	if err := finding.Decode(strings.NewReader(stream), func(m finding.Message) error { all = append(all, m); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEvalFile: a file of prompts gives one message for each, in order.
func TestEvalFile(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["glm_moe_dsa"], oracletest.Options{})
	file := filepath.Join(t.TempDir(), "prompts.json")
	if err := os.WriteFile(file, []byte(`{"prompts":[[1,2,3],[4,5,6,7,8,9,10,11]],"max_new":3}`), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runMain("eval", dir, "--tokens-file", file, "--numerics", "hf-f32", "--choices", "--json")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	all := messages(t, out)
	if len(all) != 4 {
		t.Fatalf("%d messages: %s", len(all), out)
	}
	for i, tokens := range []int{3, 8} {
		m, ok := all[i+1].(*finding.EvalMsg)
		if !ok || m.Prompt != i || m.Numerics != "hf-f32" || len(m.Tokens) != tokens || len(m.Logprobs) != tokens-1 || len(m.Greedy) != 3 || len(m.Top) != 3 || len(m.Selected["0"]) != tokens || len(m.Router["1"]) != tokens {
			t.Errorf("message %d: %+v", i+1, all[i+1])
		}
	}
	// The words of the contract, as scripts read them.
	var raw map[string]any
	if err := json.Unmarshal(bytes.Split([]byte(out), []byte("\n"))[1], &raw); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"prompt", "logits", "logprobs", "greedy", "top", "selected", "router"} {
		if raw[key] == nil {
			t.Errorf("%s is missing", key)
		}
	}
}

// TestEvalText shows what a person sees; --max-new wins.
func TestEvalText(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{})
	code, out, errs := runMain("eval", dir, "--tokens", "5, 7,9", "--max-new", "2")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	for _, want := range []string{"PROMPT   1  3 tokens, numerics exact\n", "PROBS    mean logprob -", "NEXT     ", "GREEDY   "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if line := out[strings.Index(out, "GREEDY"):]; strings.Count(line, ",") != 1 {
		t.Errorf("two tokens were asked for: %s", line)
	}
	_, redacted, _ := runMain("eval", dir, "--tokens", "5,7,9", "--max-new", "2", "--redact")
	if d := cmp.Diff(out, redacted); d != "" {
		t.Errorf("there is nothing to redact: %s", d)
	}
}

// TestEvalNaN: weights that are no numbers are named; going on shows what they
// do.
func TestEvalNaN(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{Values: func(tensor string, values []float32, _, _ int) {
		if tensor == "model.layers.0.mlp.up_proj.weight" {
			values[9] = float32(math.NaN())
		}
	}})
	code, out, errs := runMain("eval", dir, "--tokens", "5")
	if code != 4 || out != "" || !strings.Contains(errs, "model.layers.0.mlp.up_proj.weight: 1 NaN and 0 infinite") || !strings.Contains(errs, "--allow-nan") {
		t.Errorf("exit %d, %s", code, errs)
	}
	code, out, _ = runMain("eval", dir, "--tokens", "5", "--allow-nan", "--max-new", "3")
	if code != 3 || !strings.Contains(out, "not finite: shakedown trace shows where") || !strings.Contains(out, "GREEDY   0, 0, 0\n") {
		t.Errorf("exit %d, %s", code, out)
	}
	code, out, _ = runMain("trace", dir, "--tokens", "5,6", "--allow-nan")
	if code != 3 || !strings.Contains(strings.ReplaceAll(out, "\n", " "), "first at layer 0, mlp.up (model.layers.0.mlp.up_proj.weight), token 0, element 0: NaN") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestEvalRefuses(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{})
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"prompts":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	other := oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{})
	if err := os.WriteFile(filepath.Join(other, "config.json"), []byte(`{"model_type":"bert"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"eval"}, 2, "takes one checkpoint, got 0 arguments"},
		{[]string{"eval", dir}, 2, "one of --prompt, --tokens and --tokens-file"},
		{[]string{"eval", dir, "--tokens", "1", "--tokens-file", broken}, 2, "one of --prompt"},
		{[]string{"eval", dir, "--tokens", "1,x"}, 2, `"x" is no token id`},
		{[]string{"eval", dir, "--tokens", "64"}, 2, "token id 64 at position 0: the vocabulary has ids 0 to 63"},
		{[]string{"eval", dir, "--tokens", "1", "--max-new", "-2"}, 2, "--max-new -2"},
		{[]string{"eval", dir, "--tokens", "1", "--numerics", "fp7"}, 2, `numerics "fp7" is not known: exact`},
		{[]string{"eval", dir, "--tokens-file", broken}, 4, "no prompts in it"},
		{[]string{"eval", dir, "--tokens-file", "nothing.json"}, 4, "no such file"},
		{[]string{"eval", "nothing", "--tokens", "1"}, 4, "no such file"},
		{[]string{"eval", other, "--tokens", "1"}, 4, `model_type "bert" is not supported: deepseek_v3`},
		{[]string{"eval", other, "--tokens", "1"}, 4, "try: shakedown inspect " + other},
		{[]string{"eval", dir, "--prompt", "hello"}, 4, "no tokenizer: neither tokenizer.json"},
		{[]string{"trace", dir}, 2, "one of --prompt and --tokens"},
		{[]string{"trace", dir, "--tokens", "1", "--against", "fp7"}, 2, `--against: numerics "fp7"`},
		{[]string{"trace", dir, "--tokens", "99"}, 2, "token id 99"},
		{[]string{"trace", dir, "--tokens", "1", "--layers", "99"}, 2, "--layers [99]: the checkpoint has layers 0 to "},
		{[]string{"trace", dir, "--tokens", "1", "--json", "--html", "-"}, 2, "can have standard output"},
	} {
		code, out, errs := runMain(tc.args...)
		if code != tc.code || !strings.Contains(errs, tc.want) || strings.Contains(out, "logits") {
			t.Errorf("%v: exit %d, want %d; %s%s, want %q", tc.args[2:], code, tc.code, out, errs, tc.want)
		}
	}
}

// TestTrace: comparing two arithmetics, as text, stream and page.
func TestTrace(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["glm_moe_dsa"], oracletest.Options{})
	page := filepath.Join(t.TempDir(), "trace.html")
	args := []string{"trace", dir, "--tokens", "1,2,3,4,5,6,7,8,9", "--numerics", "hf-f32", "--against", "hf-bf16"}
	code, out, errs := runMain(append(args, "--layers", "1", "--html", page)...)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	for _, want := range []string{"The two arithmetics part at layer 0, attn.norm", "layer 3", "LAYER  OPERATION", "\n1      moe.router "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\n2      moe.router ") {
		t.Error("layer 2 was not asked for")
	}
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(html), `<h1 class="good">The two arithmetics part at layer 0, attn.norm`) {
		t.Errorf("page: %v", err)
	}
	code, out, _ = runMain(append(args, "--json")...)
	all := messages(t, out)
	sum, ok := all[len(all)-2].(*finding.TraceMsg)
	if code != 0 || !ok || sum.Against != "hf-bf16" || sum.FirstApart == nil || sum.FirstApart.Op != "attn.norm" || len(all) != 9 {
		t.Errorf("exit %d, %d messages, %+v", code, len(all), sum)
	}
}

// TestEvalPrompt: text goes through the checkpoint's tokenizer, and the
// continuation comes back as text. It runs where the reference models are.
func TestEvalPrompt(t *testing.T) {
	dir := filepath.Join(oracletest.Shared(t), "qwen3-tiny")
	data, err := os.ReadFile(filepath.Join(dir, "expected_text.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Cases []struct {
			Prompt string `json:"prompt"`
			IDs    []int  `json:"ids"`
			Greedy []int  `json:"greedy"`
			Text   string `json:"greedy_text"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for _, c := range want.Cases {
		code, out, errs := runMain("eval", dir, "--prompt", c.Prompt, "--max-new", "24", "--numerics", "hf-f32", "--json")
		if code != 0 {
			t.Fatalf("exit %d, %s", code, errs)
		}
		m := messages(t, out)[1].(*finding.EvalMsg)
		if d := cmp.Diff(c.IDs, m.Tokens); d != "" {
			t.Errorf("%q: ids (-want +got):\n%s", c.Prompt, d)
		}
		if d := cmp.Diff(c.Greedy, m.Greedy); d != "" || m.Text != c.Text {
			t.Errorf("%q: %q, want %q; ids %s", c.Prompt, m.Text, c.Text, d)
		}
	}
}

func FuzzTokensFile(f *testing.F) {
	f.Add([]byte(`{"prompts":[[1,2],[3]],"max_new":16}`))
	f.Add([]byte(`{"prompts":[[]]}`))
	f.Add([]byte(`{"prompts":[[1]],"max_new":-1}`))
	f.Add([]byte(`[1,2]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parseTokensFile(data)
		if err == nil && (len(file.Prompts) == 0 || file.MaxNew != nil && *file.MaxNew < 0) {
			t.Errorf("%s: %+v", data, file)
		}
	})
}
