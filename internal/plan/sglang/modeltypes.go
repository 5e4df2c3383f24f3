package sglang

import (
	"strings"
	"sync"

	"shakedown/internal/flags"
)

// span is the time in which a model type is known: from a version on, until
// before another one.
type span struct{ since, until flags.Version }

func (sp span) has(v flags.Version) bool {
	return sp.since.Known() && v.Compare(sp.since) >= 0 && (!sp.until.Known() || v.Compare(sp.until) < 0)
}

func spans(came, went []typeList) map[string]span {
	out := map[string]span{}
	each := func(lists []typeList, set func(*span, flags.Version)) {
		for i, l := range lists {
			v, err := flags.ParseVersion(l.since)
			if err != nil {
				panic("model types: " + err.Error()) // data of this package
			}
			if i == 0 && &lists[0] == &came[0] {
				v, _ = flags.ParseVersion("0") // older releases are not told apart
			}
			for _, name := range strings.Fields(l.names) {
				sp := out[name]
				set(&sp, v)
				out[name] = sp
			}
		}
	}
	each(came, func(sp *span, v flags.Version) { sp.since = v })
	each(went, func(sp *span, v flags.Version) { sp.until = v })
	return out
}

var (
	transformersSpans = sync.OnceValue(func() map[string]span { return spans(transformersTypes, transformersGone) })
	ownSpans          = sync.OnceValue(func() map[string]span { return spans(ownTypes, nil) })
)

// knowsModelType says whether AutoConfig, with SGLang's additions, knows a
// model type.
func (s *state) knowsModelType(name string) bool {
	return s.registers(name) || transformersSpans()[name].has(s.transformers())
}

// registers says whether SGLang brings its own configuration class for a model
// type.
func (s *state) registers(name string) bool {
	v, _ := flags.ParseVersion(known[s.r].version)
	return ownSpans()[name].has(v)
}

// transformers is the library's version; an unreadable one is taken as the
// release's pin.
func (s *state) transformers() flags.Version {
	v, err := flags.ParseVersion(s.deps["transformers"])
	if err != nil {
		v, _ = flags.ParseVersion(known[s.r].transformers)
	}
	return v
}

// transformersSince says whether the library is at least of a version.
func (s *state) transformersSince(version string) bool {
	w, _ := flags.ParseVersion(version)
	return s.transformers().Compare(w) >= 0
}
