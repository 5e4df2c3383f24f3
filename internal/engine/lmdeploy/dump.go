package lmdeploy

import (
	"strings"

	"shakedown/internal/engine"
	"shakedown/internal/pyrepr"
)

// dumpBegin stands before the repr of the dataclass TurbomindEngineConfig or
// PytorchEngineConfig, printed once the engine has filled in its defaults.
const dumpBegin = "updated backend_config="

// parseDump reads the configuration that the engine runs with.
func parseDump(text string) (engine.Dump, bool) {
	_, call, found := strings.Cut(text, dumpBegin)
	if !found {
		return engine.Dump{}, false
	}
	_, arguments, found := strings.Cut(call, "(")
	if !found {
		return engine.Dump{}, false
	}
	fields := pyrepr.Fields(arguments, ',')
	d := engine.Dump{Effective: true, Settings: make([]engine.Setting, 0, len(fields))}
	for _, f := range fields {
		d.Settings = append(d.Settings, engine.Setting(f))
	}
	return d, len(d.Settings) > 0
}
