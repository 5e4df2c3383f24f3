package flags

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const helpText = `usage: launch_server.py [-h] --model-path MODEL_PATH
                        [--load-format {auto,dummy}] [--devices [DEVICES ...]]

options:
  -h, --help            show this help message and exit
  --model-path MODEL_PATH, --model MODEL_PATH
                        Where the weights are. See --load-format.
  --load-format {auto,dummy}
                        How to read them. (default: auto)
  --devices [DEVICES ...]
  --graph-sizes SIZE [SIZE ...]  Sizes.
  --hf-token [HF_TOKEN]
  -q, --quiet           Say less. (default: False)
  --spread, --no-spread
                        Spread it. (default: True)

  text that is indented like a flag but is none
`

func TestFromHelp(t *testing.T) {
	tab, err := FromHelp(strings.NewReader(helpText))
	if err != nil {
		t.Fatal(err)
	}
	var got []Flag
	for _, f := range tab.Flags() {
		got = append(got, *f)
	}
	want := []Flag{
		{Names: []string{"-h", "--help"}, Setting: "help", Action: "StoreTrue", Nargs: "0", Type: "bool", Default: "None"},
		{Names: []string{"--model-path", "--model"}, Setting: "model_path", Action: "Store", Type: "str", Default: "None"},
		{Names: []string{"--load-format"}, Setting: "load_format", Action: "Store", Type: "str", Default: "auto", Choices: []string{"auto", "dummy"}},
		{Names: []string{"--devices"}, Setting: "devices", Action: "Store", Type: "str", Nargs: "*", Default: "None"},
		{Names: []string{"--graph-sizes"}, Setting: "graph_sizes", Action: "Store", Type: "str", Nargs: "+", Default: "None"},
		{Names: []string{"--hf-token"}, Setting: "hf_token", Action: "Store", Type: "str", Nargs: "?", Default: "None"},
		{Names: []string{"-q", "--quiet"}, Setting: "quiet", Action: "StoreTrue", Nargs: "0", Type: "bool", Default: "False"},
		{Names: []string{"--spread", "--no-spread"}, Setting: "spread", Action: "BooleanOptional", Nargs: "0", Type: "bool", Default: "True"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, problems := tab.Parse([]string{"--model", "m", "--sprad"}); len(problems) != 1 || problems[0].Near[0] != "--spread" {
		t.Errorf("problems %+v", problems)
	}
}

func TestFromHelpRefuses(t *testing.T) {
	for _, text := range []string{"", "hello\n  world\n", "  - a list item\n"} {
		if _, err := FromHelp(strings.NewReader(text)); !errors.Is(err, ErrNoHelp) {
			t.Errorf("FromHelp(%q): %v", text, err)
		}
	}
}

func FuzzFromHelp(f *testing.F) {
	f.Add(helpText)
	f.Add("  --a {x,y}, -b [B ...]  (default: 1)\n")
	f.Fuzz(func(t *testing.T, text string) {
		tab, err := FromHelp(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, fl := range tab.Flags() {
			if tab.Flag(fl.Names[0]) == nil || fl.Setting == "" {
				t.Errorf("%q: flag %+v", text, fl)
			}
		}
	})
}
