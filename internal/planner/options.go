package planner

import (
	"context"
	"io/fs"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/flags"
)

// Options say what to plan, and with what.
type Options struct {
	Commands    []command.Command
	Engine      string            // "sglang@0.5.9" or "sglang"; empty: as found
	GPU         string            // "8x RTX PRO 6000"; empty: those of the machine
	Model       string            // folder, config.json or built-in profile in place of the command's model
	With        map[string]string // versions of libraries: "transformers": "5.2.0"
	Map         []Mapping         // where paths of the command lie on this machine
	Flags       *flags.Table      // the flags of this very release, from its own --help; nil: those known of it
	Rules       []fs.FS           // further rule directories
	Machine     Machine
	ToolVersion string
}

// Mapping says where a path inside a container lies on this machine.
type Mapping struct{ From, To string }

// apply translates a path.
func mapped(maps []Mapping, path string) string {
	best := Mapping{}
	for _, m := range maps {
		from := strings.TrimSuffix(m.From, "/")
		if (path == from || strings.HasPrefix(path, from+"/")) && len(from) >= len(best.From) {
			best = Mapping{from, m.To}
		}
	}
	if best.To == "" {
		return path
	}
	return strings.TrimSuffix(best.To, "/") + path[len(best.From):]
}

// Machine is what can be found out about the machine that the plan is made on.
// The zero value knows nothing.
type Machine struct {
	// SMI runs nvidia-smi with hardware.SMIQuery and returns what it prints.
	SMI func(context.Context) ([]byte, error)
	// Packages are folders that hold installed Python packages, the active
	// environment's first.
	Packages []PackageDir
	// Hub is the cache of Hugging Face's hub: models--OWNER--NAME/snapshots/...
	Hub fs.FS
	// HubPath is where Hub lies.
	HubPath string
}

// PackageDir is one folder of installed Python packages.
type PackageDir struct {
	Path string
	FS   fs.FS
}

// installed looks up a Python package by its dist-info folder. The first folder
// that has it wins, as on Python's own search path.
func (m Machine) installed(name string) (version, where string, ok bool) {
	for _, dir := range m.Packages {
		found, err := fs.Glob(dir.FS, name+"-*.dist-info")
		if err != nil || len(found) == 0 {
			continue
		}
		v := strings.TrimSuffix(strings.TrimPrefix(found[len(found)-1], name+"-"), ".dist-info")
		if _, err := flags.ParseVersion(v); err == nil {
			return v, dir.Path, true
		}
	}
	return "", "", false
}
