package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// dockerForm is docker run (or podman, nerdctl) around a command.
type dockerForm struct {
	head    []Word // up to and including "run", with launchers and options of docker itself
	options []Word // of run, without -e
	image   Word
}

// dockerSwitches are the options of docker run that take no value
// (docs.docker.com/reference/cli/docker/container/run).
var dockerSwitches = wordSet("-d -i -t -P -q --detach --interactive --tty --rm --init --privileged --read-only " +
	"--publish-all --no-healthcheck --oom-kill-disable --sig-proxy --disable-content-trust --quiet --use-api-socket --help " +
	"--replace --tls-verify")

// dockerEngines are the programs with docker's command line.
var dockerEngines = wordSet("docker podman nerdctl")

// entrypoints are images whose entry point is an engine's server, by the end of
// the repository name.
var entrypoints = []struct {
	image string
	argv  []string
}{
	{"vllm/vllm-openai", []string{"vllm", "serve"}},
	{"ggml-org/llama.cpp", []string{"llama-server"}},
	{"ggerganov/llama.cpp", []string{"llama-server"}},
}

// entrypoint returns what an image runs by itself. Images of llama.cpp serve
// only under tags that begin with "server".
func entrypoint(image string) []Word {
	repository, tag, _ := strings.Cut(image, ":")
	for _, e := range entrypoints {
		if !strings.HasSuffix(repository, e.image) {
			continue
		}
		if strings.HasSuffix(e.image, "llama.cpp") && !strings.HasPrefix(tag, "server") {
			return nil
		}
		return plain(e.argv)
	}
	return nil
}

// parseDocker reads docker run ... IMAGE command. outer is the environment of
// the docker client; data says that the words are hostile.
func parseDocker(words []Word, outer []Var, data bool) (Command, bool) {
	at := dockerVerb(words)
	if at < 0 {
		return Command{}, false
	}
	f := dockerForm{head: slices.Clone(words[:at+1])}
	var env []Var
	var entry []Word
	i := at + 1
	for i < len(words) && strings.HasPrefix(words[i].Text, "-") {
		o, n := dockerOption(words[i:])
		switch o.name {
		case "-e", "--env":
			env = setVar(env, dockerVar(o.value, outer))
		case "--entrypoint":
			entry = []Word{o.value}
			f.options = append(f.options, words[i:i+n]...)
		default:
			f.options = append(f.options, words[i:i+n]...)
		}
		i += n
	}
	if i >= len(words) {
		return Command{}, false
	}
	f.image = words[i]
	c, whole, ok := containerCommand(entry, words[i+1:], f.image.Text, reader(env, data).nested)
	if !ok {
		return Command{}, false
	}
	if whole {
		c.implicit = 1 // --entrypoint stays among the options
	}
	c.Env = merged(env, c.Env)
	c.Wrapper, c.form = DockerRun, f
	return c, true
}

// dockerVerb finds "docker ... run"; -1 when there is none.
func dockerVerb(words []Word) int {
	for i, w := range words {
		name := base(w.Text)
		if !dockerEngines[name] {
			if !launchers[name] && i == 0 {
				return -1
			}
			continue
		}
		for j := i + 1; j < len(words) && j <= i+4; j++ {
			if words[j].Text == "run" {
				return j
			}
		}
		return -1
	}
	return -1
}

type option struct {
	name  string
	value Word
}

// dockerOption reads one option and says how many words it takes: "-e A=1",
// "-eA=1", "--env=A=1", "-it".
func dockerOption(words []Word) (option, int) {
	w := words[0]
	if strings.HasPrefix(w.Text, "--") {
		if name, _, ok := strings.Cut(w.Text, "="); ok {
			return option{name, w.after(name + "=")}, 1
		}
	} else if len(w.Text) > 2 {
		name := w.Text[:2]
		if !dockerSwitches[name] {
			return option{name, w.after(name)}, 1
		}
		if last := "-" + w.Text[len(w.Text)-1:]; dockerSwitches[last] {
			return option{name: name}, 1
		}
		return valueOption("-"+w.Text[len(w.Text)-1:], words)
	}
	if dockerSwitches[w.Text] {
		return option{name: w.Text}, 1
	}
	return valueOption(w.Text, words)
}

func valueOption(name string, words []Word) (option, int) {
	if len(words) < 2 {
		return option{name: name}, 1
	}
	return option{name, words[1]}, 2
}

// after is the word without the text it begins with.
func (w Word) after(prefix string) Word {
	out := Word{Text: strings.TrimPrefix(w.Text, prefix)}
	if w.Raw != "" {
		out.Raw = strings.TrimPrefix(w.Raw, prefix)
	}
	return out
}

// dockerVar reads the value of -e: NAME=value, or NAME from the caller's
// environment.
func dockerVar(w Word, outer []Var) Var {
	if name, value, ok := cutAssignment(w); ok {
		return Var{Name: name, Value: value}
	}
	for _, v := range outer {
		if v.Name == w.Text {
			return Var{Name: v.Name, Value: v.Value}
		}
	}
	return Var{Name: w.Text, Inherited: true}
}

// containerCommand finds the launch that a container runs: its entry point
// (the given one, else the image's) and its arguments. whole says that the
// given entry point is part of the command; otherwise it is a script in front
// of it.
func containerCommand(entry, args []Word, image string, nested func(Word) []Command) (c Command, whole, ok bool) {
	defer func() { c.image = image }()
	if len(entry) > 0 {
		if c, ok = build(slices.Concat(entry, args), nested); ok {
			return c, true, true
		}
	}
	if c, ok = build(args, nested); ok {
		return c, false, true
	}
	if own := entrypoint(image); len(entry) == 0 && own != nil {
		if c, ok = build(slices.Concat(own, args), nil); ok {
			c.implicit = len(own)
		}
	}
	return c, false, ok
}

func (f dockerForm) script(c Command) string {
	var items [][]string
	items = append(items, spelled(f.head))
	items = append(items, grouped(f.options)...)
	for _, v := range c.outerEnv() {
		item := Quote(v.Name)
		if !v.Inherited {
			item += "=" + shellWord(v.Value)
		}
		items = append(items, []string{"-e", item})
	}
	items = append(items, []string{shellWord(f.image)})
	return folded(append(items, grouped(c.shellWords()[c.implicit:])...), c.tail)
}

func (f dockerForm) language() language { return shellLanguage }

func (f dockerForm) redacted(h *hider) form {
	f.head, f.options = h.words(f.head, shellLanguage), h.words(f.options, shellLanguage)
	return f
}

// maxInspect bounds the containers read from docker inspect output.
const maxInspect = 64

// container is the part of docker inspect output that makes the launch.
type container struct {
	Name   string
	Config struct {
		Image           string
		Entrypoint, Cmd []string
		Env             []string
	}
	HostConfig struct {
		Binds          []string
		NetworkMode    string
		IpcMode        string
		ShmSize        int64
		Privileged     bool
		Runtime        string
		DeviceRequests []struct {
			Count     int
			DeviceIDs []string
		}
		PortBindings map[string][]struct{ HostPort string }
	}
}

// imageVariables are set by CUDA base images, not by the user.
var imageVariables = wordSet("PATH HOSTNAME NVARCH CUDA_VERSION NVIDIA_REQUIRE_CUDA NVIDIA_PRODUCT_NAME")

// parseJSON reads docker inspect output, a Kubernetes object, or an argument
// vector as a JSON list.
func parseJSON(text string) ([]Command, error) {
	var argv []string
	if json.Unmarshal([]byte(text), &argv) == nil {
		if c, ok := FromArgv(argv); ok {
			return []Command{c}, nil
		}
		return nil, nil
	}
	if text[0] == '{' {
		return parseYAML(text) // JSON is YAML, and the order of its fields stays
	}
	var containers []container
	if err := json.Unmarshal([]byte(text), &containers); err != nil {
		return nil, fmt.Errorf("a JSON list, but neither an argument vector nor docker inspect output: %w", err)
	}
	var commands []Command
	for _, ct := range containers[:min(len(containers), maxInspect)] {
		if c, ok := ct.command(); ok {
			commands = append(commands, c)
		}
	}
	return commands, nil
}

func (ct container) command() (Command, bool) {
	var env []Var
	for _, e := range ct.Config.Env {
		name, value, ok := strings.Cut(e, "=")
		if ok && identify.MatchString(name) && !imageVariables[name] && !strings.HasPrefix(name, "NV_") {
			env = setVar(env, Var{Name: name, Value: Word{Text: value}})
		}
	}
	c, whole, ok := containerCommand(plain(ct.Config.Entrypoint), plain(ct.Config.Cmd), ct.Config.Image, reader(env, true).nested)
	if !ok {
		return Command{}, false
	}
	c.Env = merged(env, c.Env)
	f := dockerForm{head: plain([]string{"docker", "run"}), options: plain(ct.options()), image: Word{Text: ct.Config.Image}}
	if whole {
		f.options = append(f.options, Word{Text: "--entrypoint"}, c.words()[0])
		c.implicit = 1
	}
	c.Wrapper, c.form = Inspect, f
	return c, true
}

// options are the docker run options that make the same container.
func (ct container) options() []string {
	h := ct.HostConfig
	var out []string
	add := func(o ...string) { out = append(out, o...) }
	for _, d := range h.DeviceRequests {
		if len(d.DeviceIDs) > 0 {
			add("--gpus", `"device=`+strings.Join(d.DeviceIDs, ",")+`"`)
		} else {
			add("--gpus", "all")
		}
	}
	if h.Runtime != "" && h.Runtime != "runc" {
		add("--runtime", h.Runtime)
	}
	if h.Privileged {
		add("--privileged")
	}
	if h.IpcMode != "" && h.IpcMode != "private" && h.IpcMode != "shareable" {
		add("--ipc", h.IpcMode)
	}
	if h.ShmSize > 0 && h.ShmSize != 64<<20 { // docker's own default
		add("--shm-size", fmt.Sprint(h.ShmSize))
	}
	if h.NetworkMode != "" && h.NetworkMode != "default" && h.NetworkMode != "bridge" {
		add("--network", h.NetworkMode)
	}
	for _, port := range slices.Sorted(maps.Keys(h.PortBindings)) {
		for _, b := range h.PortBindings[port] {
			add("-p", b.HostPort+":"+strings.TrimSuffix(port, "/tcp"))
		}
	}
	for _, b := range h.Binds {
		add("-v", b)
	}
	if name := path.Base(ct.Name); ct.Name != "" {
		add("--name", name)
	}
	return out
}
