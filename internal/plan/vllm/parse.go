package vllm

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/flags"
	"shakedown/internal/plan"
)

// parse reads the command line as FlexibleArgumentParser and the converters of
// EngineArgs do (vllm/utils/argparse_utils.py, vllm/engine/arg_utils.py). The
// settings are engine arguments.
func parse(table *flags.Table, r release, argv []string) (plan.Parsed, *plan.Refusal) {
	parsed, refusal := plan.Argparse(table, argv)
	dotted := map[string]map[string]any{}
	for _, a := range parsed.Given {
		if a.Flag == nil || a.Flag.Switch() || len(a.Values) == 0 {
			continue
		}
		name, text := a.Flag.Setting, a.Values[len(a.Values)-1]
		path := strings.TrimPrefix(a.Path, ".")
		if a.Name == "-O" && path == "" && name == "compilation_config" && text != "" && text[0] != '{' {
			path = "mode" // -O3 of releases without --optimization-level
		}
		if path != "" {
			if dotted[name] == nil {
				dotted[name] = map[string]any{}
			}
			nest(dotted[name], strings.Split(path, "."), text)
			continue
		}
		if !slices.Contains(ownConverters, a.Flag.Type) {
			continue
		}
		v, complaint := convert(a.Flag.Type, text)
		if a.Flag.Nargs == "+" && complaint == "" {
			var list []any
			for _, one := range a.Values {
				list = append(list, scalar(one))
			}
			v = list
		}
		if complaint != "" && refusal == nil {
			refusal = &plan.Refusal{Stage: plan.StageParse, Message: argument(a.Flag) + complaint, Step: "VLLM-ARGS"}
		}
		parsed.Values[name] = v
	}
	// The parser puts what dotted flags say behind all others, as one JSON value.
	for name, v := range dotted {
		parsed.Values[name], parsed.Asked[name] = v, true
	}
	for _, name := range []string{"compilation_config", "attention_config", "kernel_config", "structured_outputs_config"} {
		if refusal != nil {
			break
		}
		refusal = unknownKey(table, name, parsed.Values[name])
	}
	if refusal == nil {
		refusal = unknownPass(table, r, parsed.Values["compilation_config"])
	}
	if refusal == nil {
		refusal = kvRole(table, parsed.Values["kv_transfer_config"])
	}
	return parsed, refusal
}

// unknownPass refuses a field that PassConfig does not have.
func unknownPass(table *flags.Table, r release, value any) *plan.Refusal {
	c, _ := value.(map[string]any)
	passes, _ := c["pass_config"].(map[string]any)
	f := table.Setting("compilation_config")
	for _, key := range slices.Sorted(maps.Keys(passes)) {
		if f != nil && !slices.Contains(passFields[r], key) {
			return &plan.Refusal{Stage: plan.StageParse, Step: "VLLM-ARGS", Message: argument(f) +
				"1 validation error for CompilationConfig\npass_config." + key + "\n  Unexpected keyword argument [type=unexpected_keyword_argument, ...]"}
		}
	}
	return nil
}

// kvRole refuses a KV connector without a role (KVTransferConfig.__post_init__).
func kvRole(table *flags.Table, value any) *plan.Refusal {
	c, _ := value.(map[string]any)
	f := table.Setting("kv_transfer_config")
	if c["kv_connector"] == nil || c["kv_role"] != nil || f == nil {
		return nil
	}
	return &plan.Refusal{Stage: plan.StageParse, Step: "VLLM-ARGS", Message: argument(f) +
		"1 validation error for KVTransferConfig\n  Value error, Please specify kv_role when kv_connector is set, supported roles are ('kv_producer', 'kv_both', 'kv_consumer')"}
}

// ownConverters are the converters that plan.Argparse leaves as text.
var ownConverters = []string{"_optional_type", "_parse_type", "parse_dataclass", "union_dict_and_str", "custom", "human_readable_int_or_auto"}

// argument is how argparse begins a message about a flag.
func argument(f *flags.Flag) string { return "argument " + strings.Join(f.Names, "/") + ": " }

// convert applies one of vLLM's own converters to the text of an argument; the
// complaint is the parser's, empty for a good value.
func convert(kind, text string) (v any, complaint string) {
	switch {
	case kind == "custom":
		return strings.ReplaceAll(strings.ToLower(text), "-", "_"), ""
	case kind == "human_readable_int_or_auto":
		if strings.ToLower(text) == "auto" {
			return -1, ""
		}
		return humanInt(text)
	case kind == "_optional_type" && (text == "" || text == "None"):
		return nil, ""
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		v, err := plan.Literal(text)
		if err != nil {
			return nil, "Value " + text + " cannot be converted to <function loads>."
		}
		return v, ""
	}
	return scalar(text), ""
}

// scalar reads a number where there is one.
func scalar(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, ".e") {
		return x
	}
	return text
}

// humanUnits are the suffixes of human_readable_int: small letters are
// decimal, capitals binary.
var humanUnits = map[byte]float64{
	'k': 1e3, 'm': 1e6, 'g': 1e9, 't': 1e12,
	'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40,
}

func humanInt(text string) (any, string) {
	text = strings.TrimSpace(text)
	if n, err := strconv.Atoi(text); err == nil {
		return n, ""
	}
	if text != "" {
		if unit, ok := humanUnits[text[len(text)-1]]; ok {
			if x, err := strconv.ParseFloat(text[:len(text)-1], 64); err == nil {
				return int(x * unit), ""
			}
		}
	}
	return nil, "invalid human_readable_int_or_auto value: '" + text + "'"
}

// nest puts a value into nested objects. A value that is no JSON is text.
func nest(into map[string]any, path []string, text string) {
	for _, key := range path[:len(path)-1] {
		inner, ok := into[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			into[key] = inner
		}
		into = inner
	}
	v, err := plan.Literal(text)
	if err != nil {
		v = any(text)
		if n, complaint := humanInt(text); complaint == "" {
			v = n
		}
	}
	last := path[len(path)-1]
	if list, more := strings.CutSuffix(last, "+"); more { // a list to append to
		old, _ := into[list].([]any)
		for _, item := range strings.Split(text, ",") {
			old = append(old, item)
		}
		into[list] = old
		return
	}
	into[last] = v
}

// fieldName finds the names of the fields in a dataclass that Python printed
// as a dictionary.
var fieldName = regexp.MustCompile(`'(\w+)': `)

// unknownKey refuses a field that the configuration class does not have. The
// fields are those of the default that the parser prints.
func unknownKey(table *flags.Table, setting string, value any) *plan.Refusal {
	given, ok := value.(map[string]any)
	f := table.Setting(setting)
	if !ok || f == nil || !strings.HasPrefix(f.Default, "{") {
		return nil
	}
	has := map[string]bool{}
	for _, m := range fieldName.FindAllStringSubmatch(f.Default, -1) {
		has[m[1]] = true
	}
	bad := 0
	for key := range given {
		if !has[key] {
			bad++
		}
	}
	if bad == 0 {
		return nil
	}
	plural := ""
	if bad > 1 {
		plural = "s"
	}
	return &plan.Refusal{Stage: plan.StageParse, Step: "VLLM-ARGS", Message: fmt.Sprintf(
		"%s%d validation error%s for %s", argument(f), bad, plural, className(setting))}
}

// className is the configuration class of an engine argument:
// "compilation_config" is a CompilationConfig.
func className(setting string) string {
	var out strings.Builder
	for _, word := range strings.Split(setting, "_") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}
