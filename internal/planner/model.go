package planner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"shakedown/internal/hfconfig"
)

// found is a model and where it comes from.
type found struct {
	model *hfconfig.Model
	bytes float64 // size of its weight files; 0 when they are not at hand
	note  string  // for the user, when it is not simply the folder that the command names
}

// ModelError says that a model cannot be read, and what to do.
type ModelError struct {
	Name string
	Err  error
	Near []string // profiles that are spelled like it
}

func (e *ModelError) Error() string {
	msg := fmt.Sprintf("model %s: %v", e.Name, e.Err)
	if len(e.Near) > 0 {
		msg += "; built-in profiles that sound like it: " + strings.Join(e.Near, ", ")
	}
	return msg
}

func (e *ModelError) Unwrap() error { return e.Err }

// ErrNoModel is in the chain of a *ModelError when nothing of that name was found.
var ErrNoModel = errors.New("no such folder here, no config.json of it in the hub's cache, and no built-in profile")

// readModel finds a model by what the command calls it: a folder, a file
// config.json, a repository in the hub's cache, or a built-in profile.
func (p *planner) readModel(name string) (found, error) {
	if f, ok := p.known[name]; ok {
		return f, nil
	}
	f, err := p.findModel(name)
	if err == nil {
		p.known[name] = f
	}
	return f, err
}

func (p *planner) findModel(name string) (found, error) {
	at := mapped(p.opt.Map, name)
	switch info, err := os.Stat(at); {
	case err == nil && info.IsDir():
		m, err := readFolder(at)
		if err != nil {
			return found{}, &ModelError{Name: name, Err: err}
		}
		m.Name, m.Path = path.Base(filepath.ToSlash(name)), name
		return found{model: m, bytes: weightBytes(os.DirFS(at))}, nil
	case err == nil:
		m, err := readConfigFile(at)
		if err != nil {
			return found{}, &ModelError{Name: name, Err: err}
		}
		m.Path = name
		return found{model: m, note: "the model is " + name + " alone: weights are counted from it"}, nil
	}
	if f, ok := p.fromHub(name); ok {
		return f, nil
	}
	if m, ok := profile(name); ok {
		m.Path = name
		note := ""
		if strings.HasPrefix(name, "/") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~") {
			note = fmt.Sprintf("%s is not here: the built-in profile %s stands for it (--map %s=DIR)", name, m.Name, path.Dir(name))
		} else {
			note = "the model is the built-in profile " + m.Name
		}
		return found{model: m, note: note}, nil
	}
	missing := &ModelError{Name: name, Err: ErrNoModel, Near: nearProfiles(name)}
	if at != name {
		missing.Err = fmt.Errorf("--map puts it at %s: %w", at, ErrNoModel)
	}
	return found{}, missing
}

// fromHub looks into the cache of Hugging Face's hub.
func (p *planner) fromHub(name string) (found, bool) {
	hub := p.opt.Machine.Hub
	if hub == nil || strings.Count(name, "/") != 1 || !fs.ValidPath(name) {
		return found{}, false
	}
	repo := "models--" + strings.ReplaceAll(name, "/", "--")
	configs, err := fs.Glob(hub, path.Join(repo, "snapshots", "*", "config.json"))
	if err != nil || len(configs) == 0 {
		return found{}, false
	}
	dir := path.Dir(configs[len(configs)-1])
	sub, err := fs.Sub(hub, dir)
	if err != nil {
		return found{}, false
	}
	m, err := hfconfig.Read(sub, name)
	if err != nil {
		return found{}, false
	}
	m.Name, m.Path = path.Base(name), name
	return found{model: m, bytes: weightBytes(sub), note: "the model's files are those in " + path.Join(p.opt.Machine.HubPath, dir)}, true
}

func readConfigFile(name string) (*hfconfig.Model, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, hfconfig.MaxFile+1))
	if err != nil {
		return nil, err
	}
	o, err := hfconfig.Decode(data)
	if err != nil {
		return nil, err
	}
	return &hfconfig.Model{Name: filepath.Base(name), Path: name, Config: o}, nil
}

// weightBytes is the size of a model's safetensors files, as their index or the
// files themselves say; 0 when there are none.
func weightBytes(folder fs.FS) float64 {
	if index, err := readIndex(folder); err == nil && index > 0 {
		return index
	}
	names, err := fs.Glob(folder, "*.safetensors")
	if err != nil {
		return 0
	}
	sum := 0.0
	for _, n := range names {
		if info, err := fs.Stat(folder, n); err == nil {
			sum += float64(info.Size())
		}
	}
	return sum
}

// maxIndex bounds model.safetensors.index.json; the largest published ones, with
// a line for each expert's tensor, have some 40 MB.
const maxIndex = 256 << 20

// readIndex is metadata.total_size of the index. Only its head is read: the
// list of tensors behind it is long.
func readIndex(folder fs.FS) (float64, error) {
	f, err := folder.Open("model.safetensors.index.json")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return totalSize(io.LimitReader(f, maxIndex))
}
