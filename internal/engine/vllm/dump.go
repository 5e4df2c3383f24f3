package vllm

import (
	"strings"

	"shakedown/internal/engine"
)

// versionSetting carries the release that an engine dump names in its head.
const versionSetting = "version"

// Bounds of one dump. Real ones have up to 20,000 characters and 250 settings.
const (
	maxDump     = 1 << 20
	maxSettings = 4096
	maxNesting  = 64
)

// parseDump reads one of vLLM's configuration dumps:
//
//	non-default args: {'model': 'm', 'max_model_len': 8192}
//	args: Namespace(model='m', max_model_len=None)
//	Initializing a V1 LLM engine (v0.25.1) with config: model='m', dtype=torch.bfloat16
//
// Names become setting names, values keep Python's spelling without the quotes
// of strings. The first form lists what the user asked for. The second is the
// argument parser's result with all its defaults, so it counts as effective,
// like the third, which the engine prints after resolution. A dump whose end is
// cut off is read as far as it goes.
func parseDump(text string) (engine.Dump, bool) {
	if len(text) > maxDump {
		text = text[:maxDump]
	}
	var s settings
	effective := true
	if _, body, ok := strings.Cut(text, "non-default args: {"); ok {
		effective = false
		s.addAll(items(body, ':'))
	} else if _, body, ok := strings.Cut(text, "args: Namespace("); ok {
		s.addAll(items(body, '='))
	} else if _, head, ok := strings.Cut(text, " LLM engine "); ok {
		s.addEngine(head)
	}
	return engine.Dump{Effective: effective, Settings: s}, len(s) > 0
}

// settings collects the entries of a dump in its order.
type settings []engine.Setting

// addEngine reads "(v0.25.1) with config: model='m', ...". Releases before 0.3
// do not name their version here.
func (s *settings) addEngine(head string) {
	before, body, ok := strings.Cut(head, "with config: ")
	if !ok {
		return
	}
	if _, version, ok := strings.Cut(before, "(v"); ok {
		version, _, _ = strings.Cut(version, ")")
		s.add(versionSetting, version)
	}
	s.addAll(items(body, '='))
}

// addAll adds the entries of a dump's top level; configuration objects among
// the values are spread over their own section.
func (s *settings) addAll(list []item) {
	for _, it := range list {
		if section, ok := nestedSections[it.name]; ok && s.addSection(section, it.value) {
			continue
		}
		s.add(settingName(it.name), scalar(it.value))
	}
}

// addSection spreads a configuration object, written as a dict or as a call,
// over a section. It reports whether value was one.
func (s *settings) addSection(section, value string) bool {
	list, ok := object(value)
	if !ok {
		return false
	}
	for _, it := range list {
		if inner, nested := nestedSections[it.name]; nested {
			if fields, ok := object(it.value); ok {
				s.addFields(inner, fields)
				continue
			}
		}
		s.addFields(section, []item{it})
	}
	return true
}

func (s *settings) addFields(section string, list []item) {
	for _, it := range list {
		name := section + "." + it.name
		if full, ok := nestedRenamed[name]; ok {
			name = full
		}
		s.add(name, scalar(it.value))
	}
}

func (s *settings) add(name, value string) {
	if name != "" && len(*s) < maxSettings {
		*s = append(*s, engine.Setting{Name: name, Value: value})
	}
}
