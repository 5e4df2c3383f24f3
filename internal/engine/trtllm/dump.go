package trtllm

import (
	"slices"
	"strings"

	"shakedown/internal/engine"
	"shakedown/internal/pyrepr"
)

// The dump is the str of a pydantic model on a line of its own:
//
//	model='a/b' tokenizer=None ... skip_tokenizer_init=False trust_remote_code=False tensor_parallel_size=1 ...
//
// Only this pair of fields tells it from other engines' dumps, which put commas
// between fields, so reading begins here; the three fields before it are the
// model's and the tokenizer's names (see TRT-MODEL).
const (
	dumpBegin      = "skip_tokenizer_init=False trust_remote_code="
	dumpBeginNoTok = "skip_tokenizer_init=True trust_remote_code="
)

// parseDump reads the arguments that the executor runs with.
func parseDump(text string) (engine.Dump, bool) {
	if !strings.HasPrefix(text, dumpBegin) && !strings.HasPrefix(text, dumpBeginNoTok) {
		return engine.Dump{}, false
	}
	fields := pyrepr.Flatten(relevant(pyrepr.Fields(text, ' ')))
	d := engine.Dump{Effective: true, Settings: make([]engine.Setting, 0, len(fields))}
	for _, f := range fields {
		d.Settings = append(d.Settings, engine.Setting(f))
	}
	return d, len(d.Settings) > 0
}

// relevant drops build_config where an engine file plays no part: the PyTorch
// backend prints its 30 defaults and uses none of them.
func relevant(fields []pyrepr.Field) []pyrepr.Field {
	if !slices.Contains(fields, pyrepr.Field{Name: "backend", Value: "pytorch"}) {
		return fields
	}
	return slices.DeleteFunc(fields, func(f pyrepr.Field) bool { return f.Name == "build_config" })
}
