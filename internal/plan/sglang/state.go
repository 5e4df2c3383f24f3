// Package sglang resolves the settings of an SGLang server as its launcher and
// its scheduler do: argument parser, ServerArgs.__post_init__ with the
// ModelConfig that it looks into, check_server_args, and what the scheduler
// process decides from settings alone.
//
// A release is a list of steps, see Steps. The same step serves all releases
// that have it; differences inside a step ask for the release.
package sglang

import (
	"fmt"
	"strconv"
	"strings"

	"shakedown/internal/flags"
	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
)

// release is an index into known.
type release int

// Releases whose decisions were read in their source. A version in between
// behaves as the older neighbour.
const (
	r0502 release = iota
	r0506
	r0508
	r0509
	r0510
	r0512
	r0515
	r0518
	r0523
)

// kernelPackage is SGLang's kernel package in Case.Deps; without it quantised
// checkpoints do not move to Marlin kernels.
const kernelPackage = "sgl-kernel"

// known are the releases by index, with the versions that each pins (METADATA
// of the wheels; sgl-kernel is sglang-kernel from 0.5.10 on).
var known = []struct{ version, transformers, kernel, torch string }{
	r0502: {"0.5.2", "4.56.1", "0.3.9.post2", "2.8.0"},
	r0506: {"0.5.6.post2", "4.57.1", "0.3.19", "2.9.1"},
	r0508: {"0.5.8.post1", "4.57.1", "0.3.21", "2.9.1"},
	r0509: {"0.5.9", "4.57.1", "0.3.21", "2.9.1"},
	r0510: {"0.5.10.post1", "5.3.0", "0.4.1", "2.9.1"},
	r0512: {"0.5.12.post1", "5.6.0", "0.4.2.post2", "2.11.0"},
	r0515: {"0.5.15.post1", "5.12.1", "0.4.4", "2.11.0"},
	r0518: {"0.5.18", "5.12.1", "0.4.6.post1", "2.13.0"},
	r0523: {"0.5.23", "5.19.0", "0.4.10", "2.14.1"},
}

// Versions are the known releases, oldest first.
func Versions() []string {
	out := make([]string, len(known))
	for i, k := range known {
		out[i] = k.version
	}
	return out
}

// Pins are the versions of the libraries that decide with, as the release
// pins them: what Case.Deps holds unless the user says otherwise.
func Pins(version string) map[string]string {
	k := known[releaseOf(version)]
	return map[string]string{"transformers": k.transformers, kernelPackage: k.kernel}
}

// releaseOf is the newest known release that is not newer than a version; for
// an older or unreadable version the oldest or newest one.
func releaseOf(version string) release {
	v, err := flags.ParseVersion(version)
	if err != nil {
		return release(len(known) - 1)
	}
	r := release(0)
	for i, k := range known {
		kv, _ := flags.ParseVersion(k.version)
		if v.Base().Compare(kv) >= 0 || kv.Compare(v.Base()) > 0 && sameMinor(v.Base().String(), k.version) {
			r = release(i)
		}
	}
	return r
}

// sameMinor joins a release with its own post releases: 0.5.8 behaves as
// 0.5.8.post1, which only mends what 0.5.8 broke.
func sameMinor(a, b string) bool {
	b, _, _ = strings.Cut(b, ".post")
	return a == b
}

// state is one resolution in progress.
type state struct {
	*plan.Settings
	r      release
	gpu    device
	deps   map[string]string // "transformers"
	model  *hfconfig.Model
	drafts map[string]*hfconfig.Model
	later  map[string]any // what the scheduler decides: Result.Runtime

	locked   map[string]bool // keys of cuda_graph_config that the command line set
	unquant  bool            // --quantization unquant: do not take over the checkpoint's method
	launcher *modelConfig    // ServerArgs caches the first one it makes
}

// device is the GPU as torch and the engine's helpers see it.
type device struct {
	major, minor int    // compute capability; of AMD GPUs that of gfx942 as torch tells it, 9.4
	hip          bool   // AMD
	gfx          string // "gfx942"
	name         string
	memoryMiB    float64 // get_device_memory_capacity: nvidia-smi's, or torch's where that prints none
	fromTorch    bool    // memoryMiB is torch's, because nvidia-smi prints "[N/A]"
	count        int
}

// Helpers of sglang/srt/utils/common.py. Releases bring CUDA 12.8 or newer, so
// their CUDA version conditions hold.
func (d device) cuda() bool  { return !d.hip }
func (d device) sm90() bool  { return !d.hip && d.major == 9 }
func (d device) sm100() bool { return !d.hip && d.major == 10 }
func (d device) sm120() bool { return !d.hip && d.major == 12 }
func (d device) sm() int     { return d.major*10 + d.minor }

// blackwell is is_blackwell_supported: SM 10.x and 12.x.
func (d device) blackwell() bool { return d.sm100() || d.sm120() }

func deviceOf(c plan.Case) (device, error) {
	g := c.GPU
	d := device{name: g.Name, count: g.Count, memoryMiB: float64(g.MemoryMiB)}
	if gfx, ok := strings.CutPrefix(g.SM, "gfx"); ok {
		d.hip, d.gfx = true, g.SM
		if len(gfx) < 3 {
			return d, fmt.Errorf("GPU %s: no architecture like gfx942", g.SM)
		}
		d.major, _ = strconv.Atoi(gfx[:len(gfx)-2])
		d.minor, _ = strconv.Atoi(gfx[len(gfx)-2 : len(gfx)-1])
		return d, nil
	}
	major, minor, ok := strings.Cut(g.SM, ".")
	var err1, err2 error
	d.major, err1 = strconv.Atoi(major)
	d.minor, err2 = strconv.Atoi(minor)
	if !ok || err1 != nil || err2 != nil {
		return d, fmt.Errorf("GPU compute capability %q: want a form like 12.0", g.SM)
	}
	d.fromTorch = g.Unified || g.MemoryMiB == 0
	if d.memoryMiB == 0 {
		d.memoryMiB = float64(int(g.MemoryGiB * 1024))
	}
	return d, nil
}

// since says whether the release is r or newer.
func (s *state) since(r release) bool { return s.r >= r }

// envBool reads a switch as get_bool_env_var does: "true" and "1" are on.
func (s *state) envBool(name string) bool {
	v, _ := s.Env(name)
	v = strings.ToLower(v)
	return v == "true" || v == "1"
}

// envSwitch reads a switch as environ.EnvBool does.
func (s *state) envSwitch(name string, otherwise bool) bool {
	v, ok := s.Env(name)
	if !ok {
		return otherwise
	}
	switch strings.ToLower(v) {
	case "true", "1", "yes", "y":
		return true
	case "false", "0", "no", "n":
		return false
	}
	return otherwise
}

// envInt reads a whole number.
func (s *state) envInt(name string, otherwise int) int {
	v, ok := s.Env(name)
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if !ok || err != nil {
		return otherwise
	}
	return n
}

// info, warn and fail print a line of that level.
func (s *state) info(format string, args ...any) { s.print('I', format, args) }
func (s *state) warn(format string, args ...any) { s.print('W', format, args) }

func (s *state) print(level byte, format string, args []any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	s.Print(level, format)
}

// Who chooses; the words of explain's ledger.
const (
	byModel       = "model"
	byCheckpoint  = "checkpoint"
	byHardware    = "hardware"
	byCoupling    = "coupling"
	byEnvironment = "environment"
	byDefault     = "default"
)

// because begins a decision: by whom, by which rule, forced by which settings.
// An empty id is that of the step.
func (s *state) because(id, by, rule string, coupled ...string) {
	s.Decide(plan.Decision{ID: id, By: by, Because: rule, Coupled: coupled})
}

// refuse is an exception of the launcher; the stage is filled in by whoever
// runs the step.
func refuse(exception, format string, args ...any) error {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	return &plan.Refusal{Message: exception + ": " + format}
}

// Python exceptions.
func valueError(format string, args ...any) error { return refuse("ValueError", format, args...) }
func assertion(format string, args ...any) error  { return refuse("AssertionError", format, args...) }

// silent gives a setting a value that is no choice: a path or a device.
func (s *state) silent(name string, value any) { s.Fill(name, value) }

// dashes is a setting's name as its flag has it.
func dashes(name string) string { return strings.ReplaceAll(name, "_", "-") }

// sparseSetting is a setting of sparse attention: nsa_... up to 0.5.12, dsa_...
// from 0.5.15 on.
func (s *state) sparseSetting(name string) string {
	if s.since(r0515) {
		return "dsa_" + name
	}
	return "nsa_" + name
}
