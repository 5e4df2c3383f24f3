// Package command reads the command that launched an inference server out of
// whatever holds it, changes it, and writes it back in the same form.
//
// Terms: a wrapper is what holds the command: a shell script, docker run, a
// compose service, a Kubernetes manifest, docker inspect output, an sbatch
// script, a systemd unit. The engine's argv begins with its program ("vllm
// serve", "python -m sglang.launch_server"); its options are what follows. The
// prefix is what stands before it in the same process chain (numactl, torchrun,
// exec, uv run). A nest is a script given to "sh -c" inside a wrapper. A
// reference is a variable's name where its value is meant, in the wrapper's own
// language ("$HF_TOKEN", ${HF_TOKEN}, $(HF_TOKEN)); it also stands for a secret
// that is left out.
//
// Two kinds of text are told apart. A file that the user hands in is theirs:
// "$HOME/models" in it is kept as they wrote it. Text from a log is hostile:
// everything in it is data, and is quoted when it is printed.
package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Wrapper is the form that holds a command.
type Wrapper string

// Wrappers.
const (
	Shell      Wrapper = "shell"
	DockerRun  Wrapper = "docker-run"
	Compose    Wrapper = "compose"
	Kubernetes Wrapper = "kubernetes"
	Inspect    Wrapper = "docker-inspect" // printed as docker run
	Sbatch     Wrapper = "sbatch"
	Systemd    Wrapper = "systemd"
)

// Word is one element of a command.
type Word struct {
	// Text is the value, with every reference replaced that the file itself
	// resolves.
	Text string
	// Raw is how the user's own file spells the word in the wrapper's language,
	// when it refers to something that only the wrapper can resolve
	// ("$HOME/models"). Empty otherwise: the word is plain data.
	Raw string
}

// Var is an environment variable of the launch.
type Var struct {
	Name      string
	Value     Word
	Inherited bool // the value comes from elsewhere: the caller's environment, a secret

	kept  bool // set by an export before the command, not in front of it
	inner bool // belongs to the script of the nest
}

// Command is one launch of an engine. It is a value: methods return changed
// copies.
type Command struct {
	Engine   string // sglang, vllm, llamacpp, trtllm, lmdeploy, sglang-router
	Wrapper  Wrapper
	Prefix   []Word
	Args     []Word // the engine's argv
	Env      []Var
	Model    string // as given to the engine; empty when it is not on the command line
	File     string
	Line     int // first line in File, from 1; 0 for ParseLine
	LastLine int

	head     int      // words of Args that are the program
	implicit int      // words of Args that the image supplies; not printed
	unset    []string // variables that the text around the command sets and a change took away
	tail     string   // redirections, pipes and "&" behind the command, as shell text
	secrets  []string // variables that stand for secrets that were left out
	image    string   // of the container
	nest     *nest
	form     form
}

// form is the part of a wrapper that is printed around the command.
type form interface {
	script(c Command) string
	// redacted returns a copy in which every secret is hidden.
	redacted(h *hider) form
	language() language
}

// nest is the script of "sh -c SCRIPT" around a command.
type nest struct {
	shell         []Word // up to and including "-c"
	before, after string // the script around the command, as written
	tail          string // redirections inside the script
	raw           string // the script as the wrapper spelled it, when it has the wrapper's references
	rest          []Word // arguments behind the script
}

// Argv is the engine's argument vector, program first.
func (c Command) Argv() []string { return texts(c.Args) }

// Options are the arguments behind the program, as flags.Table.Parse takes
// them.
func (c Command) Options() []string { return texts(c.Args[c.head:]) }

// Image is the container image that the command runs in, empty when it runs in
// none.
func (c Command) Image() string { return c.image }

// Getenv returns the value of a variable, and whether it is set to a known
// value.
func (c Command) Getenv(name string) (string, bool) {
	for _, v := range c.Env {
		if v.Name == name && !v.Inherited {
			return v.Value.Text, true
		}
	}
	return "", false
}

func texts(words []Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return out
}

func plain(texts []string) []Word {
	out := make([]Word, len(texts))
	for i, t := range texts {
		out[i] = Word{Text: t}
	}
	return out
}

// setVar replaces or adds a variable, keeping the order.
func setVar(env []Var, v Var) []Var {
	if i := slices.IndexFunc(env, func(o Var) bool { return o.Name == v.Name }); i >= 0 {
		env[i] = v
		return env
	}
	return append(env, v)
}

// merged is one environment over another.
func merged(env, over []Var) []Var {
	for _, v := range over {
		env = setVar(env, v)
	}
	return env
}

// MaxFile bounds the files that Parse reads, in bytes. Launch scripts have
// kilobytes; the manifest of a whole cluster is smaller, too.
const MaxFile = 1 << 20

// ErrNoLaunch says that a file holds no launch of a known engine.
var ErrNoLaunch = errors.New("no launch of a known engine")

// Parse reads all launches in a file of any known kind. The name is used for
// its ending and in errors. An input without a launch gives an error that wraps
// ErrNoLaunch.
func Parse(name string, data []byte) ([]Command, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: more than %d bytes: cut out the command and try again", name, MaxFile)
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	commands, err := parseKind(name, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(commands) == 0 {
		return nil, fmt.Errorf("%s: %w: expected a line like \"vllm serve MODEL ...\" or \"python -m sglang.launch_server ...\"; the engine's own configuration file goes behind its --config", name, ErrNoLaunch)
	}
	for i := range commands {
		commands[i].File = name
	}
	return commands, nil
}

// parseKind picks the parser: by the ending, else by what the text begins with.
func parseKind(name, text string) ([]Command, error) {
	trimmed := strings.TrimSpace(text)
	ending := strings.ToLower(path.Ext(name))
	switch {
	case strings.HasPrefix(trimmed, "[") && json.Valid([]byte(trimmed)), strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)):
		return parseJSON(trimmed)
	case ending == ".yaml", ending == ".yml", !strings.HasPrefix(trimmed, "#!") && hasLine(text, "services:", "apiVersion:", "containers:"):
		return parseYAML(text)
	case ending == ".service", hasLine(text, "[Service]"):
		return parseUnit(text), nil
	}
	return parseScript(text)
}

// hasLine says whether some line begins with one of the texts.
func hasLine(text string, begins ...string) bool {
	for line := range strings.Lines(text) {
		for _, b := range begins {
			if strings.HasPrefix(line, b) {
				return true
			}
		}
	}
	return false
}

// FromArgv makes a command of an argument vector that is known to be data (a
// process list, a recorded argv). ok is false when it launches no known engine.
func FromArgv(argv []string) (c Command, ok bool) {
	c, ok = build(plain(argv), nil)
	c.Wrapper, c.form = Shell, shellForm{}
	return c, ok
}
