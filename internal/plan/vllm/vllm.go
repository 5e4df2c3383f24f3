// Package vllm resolves the settings of a vLLM server as its own start-up code
// does: the argument parser, EngineArgs.create_engine_config with the
// configuration classes that it fills, and what the workers choose from
// settings alone, the attention backend first.
//
// A release is a list of steps, see Steps. The same step serves all releases
// that have it; a difference inside a step asks for the release. Settings are
// named section.field, as in VllmConfig ("cache.block_size" is
// VllmConfig.cache_config.block_size).
package vllm

import (
	"strings"
	"sync"

	"shakedown/internal/flags"
	"shakedown/internal/plan"
)

// release is an index into known.
type release int

// Releases whose decisions were read in their source. A version in between
// behaves as the older neighbour.
const (
	v0112 release = iota
	v0160
	v0191
	v0240
	v0320
)

// known are the releases by index, with the transformers version that each
// pins (requirements/common.txt of the release).
var known = []struct{ version, transformers string }{
	v0112: {"0.11.2", "4.57.1"},
	v0160: {"0.16.0", "4.57.1"},
	v0191: {"0.19.1", "5.6.0"},
	v0240: {"0.24.0", "5.12.1"},
	v0320: {"0.32.0", "5.19.0"},
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
// pins them.
func Pins(version string) map[string]string {
	return map[string]string{"transformers": known[releaseOf(version)].transformers}
}

// releaseOf is the newest known release that is not newer than a version; the
// oldest one for older versions, the newest one for an unreadable version.
func releaseOf(version string) release {
	v, err := flags.ParseVersion(version)
	if err != nil {
		return release(len(known) - 1)
	}
	r := release(0)
	for i := range known {
		if v.Base().Compare(versions()[i]) >= 0 {
			r = release(i)
		}
	}
	return r
}

var versions = sync.OnceValue(func() []flags.Version {
	out := make([]flags.Version, len(known))
	for i, k := range known {
		v, err := flags.ParseVersion(k.version)
		if err != nil {
			panic("vllm: " + err.Error()) // data of this package
		}
		out[i] = v
	}
	return out
})

// steps are all decisions, in the order in which vLLM makes them.
var steps = sync.OnceValue(func() []plan.Step[*state] {
	var out []plan.Step[*state]
	for _, part := range [][]plan.Step[*state]{
		modelSteps, engineSteps, configSteps, runtimeSteps,
	} {
		out = append(out, part...)
	}
	return out
})

// releaseSteps are the steps of each known release.
var releaseSteps = sync.OnceValue(func() [][]plan.Step[*state] {
	out := make([][]plan.Step[*state], len(known))
	for i := range known {
		out[i] = plan.For(steps(), versions()[i])
	}
	return out
})

// Step describes one decision.
type Step struct{ ID, Versions, Source string }

// Steps are all decisions in the order in which vLLM makes them. Versions is
// empty for a step of all releases.
func Steps() []Step {
	out := make([]Step, len(steps()))
	for i, st := range steps() {
		out[i] = Step{ID: st.ID, Versions: st.Versions.String(), Source: st.Source}
	}
	return out
}

// step makes a step; versions is a range of flags.ParseRange, empty for all
// releases.
func step(id, versions, source string, run func(*state) error) plan.Step[*state] {
	r, err := flags.ParseRange(versions)
	if err != nil {
		panic("vllm: " + err.Error()) // data of this package
	}
	return plan.Step[*state]{ID: id, Versions: r, Source: source, Run: run}
}

// Resolve says what vLLM makes of a launch. A refusal ends the resolution
// where the engine raises; the settings are those reached until then.
func Resolve(c plan.Case) plan.Result {
	r := releaseOf(c.Version)
	s, refusal := newState(c, r)
	if refusal == nil {
		refusal = plan.Run(releaseSteps()[r], s)
		if refusal != nil && refusal.Stage == "" {
			refusal.Stage = plan.StageConfig
		}
	}
	return plan.Result{
		Version:   known[r].version,
		Refusal:   refusal,
		Effective: s.effective(),
		Runtime:   s.later,
		Choices:   s.Choices,
		Lines:     s.Lines,
		EnvSet:    s.EnvSet,
	}
}

// names cuts a list of names divided by spaces.
func names(list string) []string { return strings.Fields(list) }
