// Package all is the table of the engines whose choices can be planned. The
// table is explicit: nothing registers itself.
package all

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/plan"
	"shakedown/internal/plan/sglang"
	"shakedown/internal/plan/vllm"
)

// Engine is what an engine's resolver offers.
type Engine struct {
	Name     string
	Resolve  func(plan.Case) plan.Result
	Versions func() []string // releases whose steps were read, oldest first
	// Pins are the versions of libraries that decide with, as the release of a
	// version pins them: "transformers".
	Pins func(version string) map[string]string
}

// List holds every engine with a resolver.
var List = []Engine{
	{"sglang", sglang.Resolve, sglang.Versions, sglang.Pins},
	{"vllm", vllm.Resolve, vllm.Versions, vllm.Pins},
}

// UnknownEngineError says that an engine has no resolver.
type UnknownEngineError struct{ Name string }

func (e *UnknownEngineError) Error() string {
	var names []string
	for _, known := range List {
		names = append(names, known.Name)
	}
	return fmt.Sprintf("no plan for engine %q: the engines with a plan are %s", e.Name, strings.Join(names, ", "))
}

// Find returns the engine of a name, or an *UnknownEngineError.
func Find(name string) (*Engine, error) {
	i := slices.IndexFunc(List, func(e Engine) bool { return e.Name == name })
	if i < 0 {
		return nil, &UnknownEngineError{Name: name}
	}
	return &List[i], nil
}
