package command

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// launchers are programs that start another program given behind their own
// options.
var launchers = wordSet("numactl nohup exec sudo env time timeout taskset nice ionice chrt stdbuf setsid " +
	"uv uvx poetry pipenv conda mamba micromamba pixi run torchrun mpirun mpiexec orterun srun accelerate " +
	"nsys ncu rocprof rocprofv3 compute-sanitizer cuda-gdb gdb strace ltrace valgrind " +
	"singularity apptainer enroot kubectl docker podman nerdctl tini dumb-init catchsegv systemd-run chroot command trtllm-llmapi-launch")

// modules are Python modules that are an engine's server.
var modules = map[string]string{
	"sglang.launch_server":               "sglang",
	"vllm.entrypoints.openai.api_server": "vllm",
	"vllm.entrypoints.api_server":        "vllm",
	"tensorrt_llm.commands.serve":        "trtllm",
	"sglang_router.launch_router":        "sglang-router",
	"sglang_router.launch_server":        "sglang-router",
}

// program is an engine's executable with the subcommands that serve. An empty
// subcommand means that none is needed.
type program struct {
	engine      string
	subcommands [][]string
}

var programs = map[string]program{
	"vllm":                        {"vllm", [][]string{{"serve"}}},
	"vllm.entrypoints.cli.main":   {"vllm", [][]string{{"serve"}}},
	"sglang":                      {"sglang", [][]string{{"serve"}}},
	"sglang.cli.main":             {"sglang", [][]string{{"serve"}}},
	"llama-server":                {"llamacpp", [][]string{nil}},
	"llama-cli":                   {"llamacpp", [][]string{nil}},
	"trtllm-serve":                {"trtllm", [][]string{{"serve"}, {"mm_embedding_serve"}, {"disaggregated"}, nil}},
	"lmdeploy":                    {"lmdeploy", [][]string{{"serve", "api_server"}}},
	"sglang-router":               {"sglang-router", [][]string{{"launch"}, nil}},
	"sglang_router":               {"sglang-router", [][]string{{"launch"}, nil}},
	"smg":                         {"sglang-router", [][]string{{"launch"}}},
	"sglang/launch_server.py":     {"sglang", [][]string{nil}},
	"openai/api_server.py":        {"vllm", [][]string{nil}},
	"sglang_router/launch_router": {"sglang-router", [][]string{nil}},
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// base is the name of an executable without folder and ".exe".
func base(text string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(text, `\`, "/")), ".exe")
}

var (
	python   = regexp.MustCompile(`^(python|pypy)[0-9.]*$`)
	shells   = regexp.MustCompile(`^(ba|da|z|k|a)?sh$`)
	shellRun = regexp.MustCompile(`^-[a-z]*c$`)
	identify = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// engineAt recognises an engine's argv. head is the number of words that are
// the program.
func engineAt(words []Word) (engine string, head int) {
	if len(words) == 0 {
		return "", 0
	}
	if python.MatchString(base(words[0].Text)) {
		n := interpreterOptions(words)
		if engine, head = scriptAt(words[n:]); engine != "" {
			return engine, n + head
		}
		return "", 0
	}
	return scriptAt(words)
}

// interpreterOptions counts the interpreter and its options, before "-m" or a
// script.
func interpreterOptions(words []Word) int {
	n := 1
	for n < len(words) && strings.HasPrefix(words[n].Text, "-") && words[n].Text != "-m" {
		if words[n].Text == "-X" || words[n].Text == "-W" {
			n++
		}
		n++
	}
	return min(n, len(words))
}

// scriptAt recognises "-m module" and executables.
func scriptAt(words []Word) (engine string, head int) {
	if len(words) == 0 {
		return "", 0
	}
	name, n := words[0].Text, 1
	if name == "-m" && len(words) > 1 {
		name, n = words[1].Text, 2
		if engine, ok := modules[name]; ok {
			return engine, n
		}
	}
	p, ok := programs[base(name)]
	if !ok {
		p, ok = programs[path.Join(path.Base(path.Dir(name)), path.Base(name))]
	}
	if !ok {
		return "", 0
	}
	rest := texts(words[n:])
	for _, sub := range p.subcommands {
		if len(rest) >= len(sub) && slices.Equal(rest[:len(sub)], sub) {
			return p.engine, n + len(sub)
		}
	}
	return "", 0
}

// build finds the engine's argv in a command line, behind any launchers and
// "sh -c". parse reads a nested script; nil leaves nests alone.
func build(words []Word, parse func(script Word) []Command) (Command, bool) {
	if len(words) == 0 {
		return Command{}, false
	}
	if _, _, ok := cutAssignment(words[0]); ok || strings.ContainsRune(words[0].Text, 0) {
		return Command{}, false // a quoted name like this would print as an assignment; none holds a NUL
	}
	for i := range words {
		if i > 0 && !launchers[base(words[0].Text)] {
			break
		}
		if engine, head := engineAt(words[i:]); engine != "" {
			c := Command{Engine: engine, Args: slices.Clone(words[i:]), head: head}
			if c.onlyAsks() {
				return Command{}, false
			}
			c.setPrefix(words[:i])
			c.Model = c.model()
			return c, true
		}
		if parse != nil && i+2 < len(words) && shells.MatchString(base(words[i].Text)) && shellRun.MatchString(words[i+1].Text) {
			return buildNest(words, i, parse)
		}
	}
	return Command{}, false
}

// buildNest reads the script of "sh -c SCRIPT" at words[at].
func buildNest(words []Word, at int, parse func(Word) []Command) (Command, bool) {
	inner := parse(words[at+2])
	if len(inner) == 0 || inner[0].nest == nil {
		return Command{}, false
	}
	c := inner[0]
	c.nest.shell = slices.Clone(words[:at+2])
	c.nest.raw = words[at+2].Raw
	c.nest.rest = slices.Clone(words[at+3:])
	return c, true
}

// onlyAsks is true for a command that prints something and ends.
func (c Command) onlyAsks() bool {
	options := c.Options()
	return len(options) > 0 && !slices.ContainsFunc(options, func(o string) bool {
		return o != "--version" && o != "--help" && o != "-h"
	})
}

// setPrefix keeps the launchers and moves "env A=1" into the environment.
func (c *Command) setPrefix(words []Word) {
	inEnv := false
	for _, w := range words {
		name, value, ok := cutAssignment(w)
		if inEnv && ok {
			c.Env = setVar(c.Env, Var{Name: name, Value: value})
			continue
		}
		inEnv = w.Text == "env" || inEnv && strings.HasPrefix(w.Text, "-")
		c.Prefix = append(c.Prefix, w)
	}
}

// cutAssignment splits NAME=value.
func cutAssignment(w Word) (name string, value Word, ok bool) {
	name, text, ok := strings.Cut(w.Text, "=")
	if !ok || !identify.MatchString(name) {
		return "", Word{}, false
	}
	value.Text = text
	if w.Raw != "" {
		value.Raw = strings.TrimPrefix(w.Raw, name+"=")
	}
	return name, value, true
}

// modelFlags are the flags that name the model, by engine; none: the first
// argument names it.
var modelFlags = map[string][]string{
	"sglang":   {"--model-path", "--model"},
	"vllm":     {"--model"},
	"llamacpp": {"-m", "--model", "-hf", "-hfr", "--hf-repo"},
	"lmdeploy": {"--model-path"},
	"trtllm":   {"--model"},
}

// positionalModel holds the engines that take the model as first argument.
var positionalModel = map[string]bool{"vllm": true, "trtllm": true, "lmdeploy": true}

func (c Command) model() string {
	options := c.Options()
	found := ""
	for i, o := range options {
		name, value, glued := strings.Cut(o, "=")
		if !slices.Contains(modelFlags[c.Engine], spelling(name)) {
			continue
		}
		if glued {
			found = value
		} else if i+1 < len(options) {
			found = options[i+1]
		}
	}
	if found == "" && positionalModel[c.Engine] && len(options) > 0 && !strings.HasPrefix(options[0], "-") {
		return options[0]
	}
	return found
}

// spelling normalises "_" in a long flag to "-": all these engines but
// TensorRT-LLM write dashes, vLLM reads both, TensorRT-LLM has no two flags
// that differ only in that.
func spelling(name string) string {
	if strings.HasPrefix(name, "--") {
		return strings.ReplaceAll(name, "_", "-")
	}
	return name
}
