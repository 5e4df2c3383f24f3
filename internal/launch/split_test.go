package launch_test

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		name string
		log  string
		want string // first-last outcome of each launch
	}{
		{"command and one launch", sglCommand + sglStart + sglServed, "1-14 ok"},
		{"appended", sglStart + at("12", sglStart), "1-11 ok, 12-22 ok"},
		{"appended after a failure", sglDump + sglLoad + sglCrash + at("12", sglStart), "1-13 failed, 14-24 ok"},
		{"pasted twice", sglStart + sglStart, "1-22 ok"},
		{"another engine after a failure", sglDump + sglLoad + sglCrash + vllmStart + vllmUp, "1-13 failed, 14-22 ok"},
		{
			"a note with a command between",
			sglStart + sglServed + "\nWith an FP8 cache it is the same:\n\n" + sglCommand + at("12", sglDump+sglLoad),
			"1-13 ok, 17-22 stalled",
		},
		{"a command behind the last line", sglStart + sglCommand, "1-12 ok"},
		{
			"questions to the program start no launch",
			sglDump + sglLoad + "$ vllm serve --help\n$ python3 -m sglang.launch_server --version\n" + sglLoaded + sglUp,
			"1-13 ok",
		},
		{
			"a draft model is loaded like a second start",
			sglDump + sglLoad + sglLoaded + at("11", sglLoad+sglLoaded) + at("11", sglUp),
			"1-16 ok",
		},
		{"a milestone of a new start after ready", sglStart + at("12", sglLoad), "1-11 ok, 12-15 stalled"},
		{
			"the title of a report, with a quotation, belongs to its log",
			"sglang: Received sigquit from a child process on start\n\n" + sglCommand + sglDump + sglLoad,
			"1-8 stalled",
		},
		{"a command that is refused at once", "$ vllm serve /models/orca-7b --bogus-flag 3\nusage: vllm serve [model_tag] [options]\nvllm: error: unrecognized arguments: --bogus-flag 3\n", "1-3 failed"},
		{"a command alone", "Use this:\n\n" + sglCommand, ""},
		{"prose", "The server did not start. Has anybody seen this?\n", ""},
		{"another program's failure", "Traceback (most recent call last):\n  File \"/srv/shop/cart.py\", line 3, in add\n    total += item\nTypeError: unsupported operand\n", ""},
		{"nothing", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := describe(read(t, "server.log", tc.log)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestQuotedReady: people quote the line that they waited for.
func TestQuotedReady(t *testing.T) {
	for _, tc := range []struct {
		line string
		want bool
	}{
		{"I wait and wait for the message The server is fired up and ready to roll! but it never comes\n", false},
		{"[2026-03-01 10:00:46] The server is fired up and ready to roll!\n", true},
		{"The server is fired up and ready to roll!\n", true},
	} {
		l := readOne(t, sglDump+sglLoad+tc.line)
		if got := l.ReadySeq >= 0; got != tc.want {
			t.Errorf("%q: ready %v", tc.line, got)
		}
	}
}

func TestCommandOfLaunch(t *testing.T) {
	for _, tc := range []struct {
		name string
		log  string
		want []string
		line int
	}{
		{"one line", "Hello\n\n" + sglCommand + sglStart, []string{"--model-path", "/models/orca-7b", "--tp", "2"}, 3},
		{
			"continued", "$ python3 -m sglang.launch_server \\\n    --model-path /models/orca-7b \\\n    --tp 2\n" + sglStart,
			[]string{"--model-path", "/models/orca-7b", "--tp", "2"}, 1,
		},
		{
			"continued from a line without the program", "docker run --gpus all \\\n  example/sglang:v0.5.9 \\\n  python3 -m sglang.launch_server --model-path /models/orca-7b\n" + sglStart,
			[]string{"--model-path", "/models/orca-7b"}, 1,
		},
		{"the last of several", "$ python3 -m sglang.launch_server --model-path /models/other\n" + sglCommand + sglStart, []string{"--model-path", "/models/orca-7b", "--tp", "2"}, 2},
		{"a question is no launch", sglCommand + "$ vllm serve --version\n" + sglStart, []string{"--model-path", "/models/orca-7b", "--tp", "2"}, 1},
		{"none", sglStart, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, pos := readOne(t, tc.log).Command()
			var got []string
			if c != nil {
				got = c.Options()
			}
			if !slices.Equal(got, tc.want) || pos.Line != tc.line {
				t.Errorf("command %q in line %d, want %q in line %d", got, pos.Line, tc.want, tc.line)
			}
		})
	}
}

// TestEngines: the engine of a paste without banner shows in its signs.
func TestEngines(t *testing.T) {
	for name, log := range map[string]string{
		"sglang":   sglLoad,
		"vllm":     strings.Join(strings.SplitAfter(vllmStart, "\n")[3:], ""),
		"llamacpp": "build: 6700 (a1b2c3d4) with cc (Debian 12.2.0) for x86_64-linux-gnu\nsrv    load_model: loading model '/models/orca-7b-q4.gguf'\nllama_model_load: error loading model: tensor 'blk.3.attn_q.weight' not found\n",
	} {
		if got := readOne(t, log).EngineName(); got != name {
			t.Errorf("%s: recognised as %s", name, got)
		}
	}
}
