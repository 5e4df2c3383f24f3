package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/ledger"
	"shakedown/internal/probe"
	"shakedown/internal/redact"
)

// hideSettings takes the server's own secrets out of what it tells of its settings:
// older SGLang tells its API key.
func hideSettings(text string) string { return redact.NewSecrets().Text(text) }

// maxSettings bounds the settings that are read; SGLang has 550.
const maxSettings = 3000

// setting notes one setting in effect. Value is what the engine wrote.
func (v *visit) setting(name string, value json.RawMessage, path string) {
	v.chosen(name, value, path, nil)
}

// launched is the command line that a server was started with.
type launched struct {
	table  *flags.Table
	parsed flags.Parsed
}

// launchedBy reads the command line that SGLang tells, joined by spaces; nil where
// it can't be taken apart again.
func launchedBy(line, version string) *launched {
	table, _ := flags.Lookup("sglang", version)
	if line == "" || table == nil || strings.ContainsAny(line, "{}'\"") {
		return nil
	}
	parsed, _ := table.Parse(strings.Fields(line)) // the server took it: problems are ours
	return &launched{table, parsed}
}

// who says what was asked of a setting and who chose its value. It judges as the
// ledger of a log does.
func (l *launched) who(name, effective string) (asked finding.Asked, by string, silent bool) {
	if l == nil {
		return finding.Asked{}, "unknown", false
	}
	asked.Known = true
	flag := l.table.Setting(name)
	arg, given := l.parsed.Asked(name)
	switch {
	case given && arg.Value() == "auto", given && ledger.Same(arg.Value(), effective):
		value := arg.Value()
		asked.Value = &value
		if by = "user"; value == "auto" && effective != "auto" {
			by = "unknown"
		}
	case given:
		value := arg.Value()
		asked.Value, by, silent = &value, "unknown", true
	case flag != nil && ledger.Same(flag.Default, effective):
		by = "default"
	default:
		by = "unknown"
	}
	return asked, by, silent
}

// chosen notes one setting in effect, and how it came about as far as the server
// was started by a command line that it tells.
func (v *visit) chosen(name string, value json.RawMessage, path string, l *launched) {
	if len(v.settings) >= maxSettings || len(name) > maxName {
		return
	}
	name = v.s.key.hideText(name)
	text := redact.NewSecrets().Value(name, v.s.key.hideText(pythonText(value, 0, true)))
	text = clip(text, maxName)
	v.t.Settings[name] = text
	asked, by, silent := l.who(name, text)
	if asked.Value != nil {
		hidden := redact.NewSecrets().Value(name, v.s.key.hideText(*asked.Value))
		asked.Value = &hidden
	}
	v.settings = append(v.settings, finding.SettingMsg{
		Name: name, Effective: text, Asked: asked, ChosenBy: by, Silent: silent,
		Because: []finding.Evidence{{Kind: "endpoint", File: path, Field: name, Text: name + "=" + text}},
	})
}

// pythonText is a JSON value as Python prints it, which is how logs show settings.
func pythonText(data json.RawMessage, depth int, outer bool) string {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0 || string(data) == "null":
		return "None"
	case string(data) == "true":
		return "True"
	case string(data) == "false":
		return "False"
	case data[0] == '"':
		var s string
		if json.Unmarshal(data, &s) != nil {
			return string(data)
		}
		if outer {
			return s
		}
		return "'" + strings.ReplaceAll(s, "'", `\'`) + "'"
	case depth > 4:
		return "..."
	case data[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil {
			return string(data)
		}
		parts := make([]string, 0, min(len(list), 100))
		for _, x := range list[:min(len(list), 100)] {
			parts = append(parts, pythonText(x, depth+1, false))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case data[0] == '{':
		var parts []string
		_ = eachField(data, func(name string, value json.RawMessage) { // data is valid JSON
			if len(parts) < 100 {
				parts = append(parts, "'"+name+"': "+pythonText(value, depth+1, false))
			}
		})
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return string(data)
}

// sglangInfo reads /server_info, which has every argument with its value in effect;
// before 0.5.4 it was /get_server_info.
func sglangInfo(ctx context.Context, v *visit) {
	for _, path := range []string{"/server_info", "/get_server_info"} {
		if m := v.object(ctx, path); m != nil {
			v.sglangArgs(m, path)
			return
		}
	}
}

// notSettings are the fields of SGLang's answer that are states, not settings.
var notSettings = map[string]bool{
	"internal_states": true, "status": true, "startup_time": true, "version": true, "frontend": true, "launch_command": true,
	"hicache_object_layout": true, "kv_events": true, "max_total_num_tokens": true, "max_req_input_len": true,
}

func (v *visit) sglangArgs(m map[string]json.RawMessage, path string) {
	t := v.t
	v.toldText("Version", &t.Version, m["version"], path+" version")
	v.toldText("Root", &t.Root, m["model_path"], path+" model_path")
	v.told("Pool", &t.Pool, m["max_total_num_tokens"], path+" max_total_num_tokens")
	v.told("Page", &t.Page, m["page_size"], path+" page_size")
	v.told("Chunk", &t.Chunk, m["chunked_prefill_size"], path+" chunked_prefill_size")
	v.told("Running", &t.Running, m["max_running_requests"], path+" max_running_requests")
	v.told("Context", &t.Context, m["context_length"], path+" context_length")
	var states []map[string]json.RawMessage
	if json.Unmarshal(m["internal_states"], &states) == nil && len(states) > 0 {
		s := states[0]
		v.told("Running", &t.Running, s["effective_max_running_requests_per_dp"], path+" internal_states[0].effective_max_running_requests_per_dp")
		v.told("Page", &t.Page, s["page_size"], path+" internal_states[0].page_size")
	}
	line := ""
	if json.Unmarshal(m["launch_command"], &line) != nil {
		line = "" // releases before it was told
	}
	l := launchedBy(line, t.Version)
	for _, name := range sortedKeys(m) {
		if !notSettings[name] && !strings.HasPrefix(name, "_") {
			v.chosen(name, m[name], path, l)
		}
	}
}

// each notes the settings of an object in the order of their names.
func (v *visit) each(m map[string]json.RawMessage, path string, want func(name string) bool) {
	for _, name := range sortedKeys(m) {
		if want(name) {
			v.setting(name, m[name], path)
		}
	}
}

// vllmInfo reads the version, the settings where the server is in development mode,
// and else the few that stand among its counters.
func vllmInfo(ctx context.Context, v *visit) {
	versionInfo("/version")(ctx, v)
	const path = "/server_info?config_format=json"
	var config map[string]map[string]json.RawMessage
	if m := v.object(ctx, path); m["vllm_config"] != nil {
		_ = json.Unmarshal(m["vllm_config"], &config) // sections that are no objects are left out
	}
	v.vllmConfig(config, path)
	if !v.left() {
		return
	}
	rep := v.get(ctx, "/metrics")
	if rep.failure != probe.None || rep.status != http.StatusOK {
		return
	}
	eachSeries(rep.body, func(s series) {
		switch s.name {
		case "process_start_time_seconds":
			if n := int64(s.value); n > 0 && n < 1<<40 {
				v.t.Started = n
				v.t.Sources["Started"] = "/metrics " + s.name
			}
		case "vllm:cache_config_info":
			if config == nil && v.t.Pool == 0 { // one line per engine; the first stands for all
				v.vllmCache(s.labels)
			}
		}
	})
}

// vllmSections are the parts of vLLM's configuration, with the names that the
// engine's own flags and the plan give them.
var vllmSections = map[string]string{
	"model_config": "model", "cache_config": "cache", "parallel_config": "parallel", "scheduler_config": "scheduler", "load_config": "load",
	"attention_config": "attention", "kernel_config": "kernel", "compilation_config": "compilation", "speculative_config": "speculative",
	"structured_outputs_config": "structured_outputs", "observability_config": "observability", "device_config": "device", "lora_config": "lora",
}

func (v *visit) vllmConfig(config map[string]map[string]json.RawMessage, path string) {
	t := v.t
	for _, section := range sortedKeys(config) {
		short := vllmSections[section]
		if short == "" {
			continue
		}
		for _, name := range sortedKeys(config[section]) {
			if value := config[section][name]; name != "hf_config" && name != "hf_text_config" {
				v.setting(short+"."+name, value, path)
			}
		}
	}
	cache, scheduler, model := config["cache_config"], config["scheduler_config"], config["model_config"]
	v.told("Page", &t.Page, cache["block_size"], path+" cache_config.block_size")
	v.told("Pool", &t.Pool, cache["kv_cache_size_tokens"], path+" cache_config.kv_cache_size_tokens")
	if t.Pool == 0 {
		v.told("Pool", &t.Pool, cache["num_gpu_blocks"], path+" cache_config.num_gpu_blocks x block_size")
		t.Pool *= max(t.Page, 1)
	}
	v.told("Chunk", &t.Chunk, scheduler["max_num_batched_tokens"], path+" scheduler_config.max_num_batched_tokens")
	v.told("Running", &t.Running, scheduler["max_num_seqs"], path+" scheduler_config.max_num_seqs")
	v.told("Context", &t.Context, model["max_model_len"], path+" model_config.max_model_len")
}

// vllmCache reads the labels of vllm:cache_config_info.
func (v *visit) vllmCache(labels map[string]string) {
	const path = "/metrics"
	for _, name := range sortedKeys(labels) {
		switch name {
		case "engine", "model_name", "engine_index":
			continue
		}
		text, err := compact(labels[name])
		if err == nil {
			v.setting("cache."+name, text, path)
		}
	}
	number := func(name string) json.RawMessage {
		if _, err := strconv.Atoi(labels[name]); err != nil {
			return nil
		}
		return json.RawMessage(labels[name])
	}
	v.told("Page", &v.t.Page, number("block_size"), path+" vllm:cache_config_info block_size")
	v.told("Pool", &v.t.Pool, number("kv_cache_size_tokens"), path+" vllm:cache_config_info kv_cache_size_tokens")
	if v.t.Pool == 0 {
		v.told("Pool", &v.t.Pool, number("num_gpu_blocks"), path+" vllm:cache_config_info num_gpu_blocks x block_size")
		v.t.Pool *= max(v.t.Page, 1)
	}
}

// llamacppInfo reads /props, the settings in effect.
func llamacppInfo(ctx context.Context, v *visit) {
	if m := v.object(ctx, "/props"); m != nil {
		v.llamacppProps(m)
	}
}

func (v *visit) llamacppProps(m map[string]json.RawMessage) {
	const path = "/props"
	t := v.t
	v.toldText("Build", &t.Build, m["build_info"], path+" build_info")
	if build, _, ok := strings.Cut(t.Build, "-"); ok && build != "b0" { // b0: built outside of its repository
		t.Version = build
		t.Sources["Version"] = path + " build_info"
	}
	v.toldText("Root", &t.Root, m["model_path"], path+" model_path")
	v.told("Running", &t.Running, m["total_slots"], path+" total_slots")
	var defaults struct {
		Context json.RawMessage            `json:"n_ctx"`
		Params  map[string]json.RawMessage `json:"params"`
	}
	if json.Unmarshal(m["default_generation_settings"], &defaults) == nil {
		v.told("Context", &t.Context, defaults.Context, path+" default_generation_settings.n_ctx")
		if defaults.Context != nil {
			v.setting("n_ctx", defaults.Context, path)
		}
		v.each(defaults.Params, path, func(string) bool { return true })
	}
	v.each(m, path, func(name string) bool {
		return name != "default_generation_settings" && name != "ui_settings" && name != "media_marker" && name != "chat_template"
	})
}

// shakedownInfo reads what `shakedown serve` computes with.
func shakedownInfo(ctx context.Context, v *visit) {
	const path = "/get_server_info"
	m := v.object(ctx, path)
	t := v.t
	v.toldText("Version", &t.Version, m["version"], path+" version")
	v.told("Context", &t.Context, m["context"], path+" context")
	v.told("Pool", &t.Pool, m["cache_tokens"], path+" cache_tokens")
	v.told("Running", &t.Running, m["max_running"], path+" max_running")
	v.each(m, path, func(name string) bool { return name != "version" })
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
