package vllm

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"shakedown/internal/flags"
)

// modelTypeData lists model types: name, the first transformers release read
// whose AutoConfig knows it ("-": none), after a slash the first one whose
// attention can be replaced (_supports_attention_backend; "-": none, but its
// code takes an implementation, _can_set_attn_implementation of 5.19.0), and
// the vLLM releases (indexes into known) that bring a configuration class of
// their own.
//
//go:embed data/modeltypes.txt
var modelTypeData string

// environmentData lists the variables of vllm/envs.py: name, and the releases
// (indexes into known) that know it.
//
//go:embed data/environment.txt
var environmentData string

// releaseSpans are releases from and to, both included.
type releaseSpans [][2]release

func (spans releaseSpans) has(r release) bool {
	for _, s := range spans {
		if s[0] <= r && r <= s[1] {
			return true
		}
	}
	return false
}

func parseSpans(fields []string) (releaseSpans, error) {
	var out releaseSpans
	for _, f := range fields {
		var s [2]release
		if _, err := fmt.Sscanf(f, "%d-%d", &s[0], &s[1]); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

type modelTypeKnown struct {
	since       sinceVersion // transformers' AutoConfig
	replaceable sinceVersion // attention of transformers' implementation
	settable    bool         // or its code takes one
	own         releaseSpans
}

// sinceVersion is the first release of transformers that has something; the
// zero value is none.
type sinceVersion struct{ flags.Version }

func parseSince(text string) (sinceVersion, error) {
	switch text {
	case "-", "":
		return sinceVersion{}, nil
	case "4.57.1": // the oldest one read; older ones are not told apart
		text = "0"
	}
	v, err := flags.ParseVersion(text)
	return sinceVersion{v}, err
}

func (since sinceVersion) reached(v flags.Version) bool {
	return since.Known() && v.Compare(since.Version) >= 0
}

var modelTypes = sync.OnceValue(func() map[string]modelTypeKnown {
	out := map[string]modelTypeKnown{}
	for line := range strings.Lines(modelTypeData) {
		f := strings.Fields(line)
		var k modelTypeKnown
		var err error
		since, replaceable, settable := strings.Cut(f[1], "/")
		k.settable = settable
		if k.since, err = parseSince(since); err != nil {
			panic("modeltypes.txt: " + err.Error()) // data of this package
		}
		if k.replaceable, err = parseSince(replaceable); err != nil {
			panic("modeltypes.txt: " + err.Error()) // data of this package
		}
		if k.own, err = parseSpans(f[2:]); err != nil {
			panic("modeltypes.txt: " + err.Error()) // data of this package
		}
		out[f[0]] = k
	}
	return out
})

var environment = sync.OnceValue(func() map[string]releaseSpans {
	out := map[string]releaseSpans{}
	for line := range strings.Lines(environmentData) {
		f := strings.Fields(line)
		spans, err := parseSpans(f[1:])
		if err != nil {
			panic("environment.txt: " + err.Error()) // data of this package
		}
		out[f[0]] = spans
	}
	return out
})

// knowsModelType says whether AutoConfig, with vLLM's additions, knows a model
// type.
func (s *state) knowsModelType(name string) bool {
	k := modelTypes()[name]
	return k.own.has(s.r) || k.since.reached(s.library())
}

// library is the version of transformers; an unreadable one is the release's
// own.
func (s *state) library() flags.Version {
	v, err := flags.ParseVersion(s.transformers())
	if err != nil {
		v, _ = flags.ParseVersion(known[s.r].transformers)
	}
	return v
}
