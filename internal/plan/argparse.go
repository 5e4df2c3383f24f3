package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/flags"
)

// Parsed is what an engine's argument parser makes of a command line.
type Parsed struct {
	Values map[string]any  // every setting of the release: its default, or what was asked
	Asked  map[string]bool // settings that the command line writes
	Given  []flags.Arg     // the arguments, in their order
}

// Argparse reads a launch command as Python's argparse does, with its wording
// when it refuses (Lib/argparse.py of Python 3.12). The flags named in given
// count as present.
func Argparse(table *flags.Table, argv []string, given ...string) (Parsed, *Refusal) {
	p := Parsed{Values: Defaults(table), Asked: map[string]bool{}}
	parsed, problems := table.Parse(argv)
	p.Given = parsed.Args
	if message := complaint(table, parsed, problems, given); message != "" {
		return p, &Refusal{Stage: StageParse, Message: message}
	}
	for _, a := range parsed.Args {
		if a.Flag == nil || a.Flag.Action == "Deprecated" {
			continue
		}
		v, err := typed(table.Engine, a)
		if err != nil {
			return p, &Refusal{Stage: StageParse, Message: argument(a.Flag) + err.Error()}
		}
		p.Values[a.Flag.Setting] = v
		p.Asked[a.Flag.Setting] = true
	}
	return p, nil
}

// argument is how argparse begins a message about a flag.
func argument(f *flags.Flag) string { return "argument " + strings.Join(f.Names, "/") + ": " }

// complaint is the message with which argparse ends, or empty. Ambiguous
// abbreviations are found before anything is read, then each flag is checked in
// its order, then what is missing, and last what no flag took.
func complaint(table *flags.Table, parsed flags.Parsed, problems []flags.Problem, given []string) string {
	problems = slices.Clone(problems)
	slices.SortStableFunc(problems, func(a, b flags.Problem) int { return a.Index - b.Index })
	byIndex := map[int]flags.Arg{}
	for _, a := range parsed.Args {
		byIndex[a.Index] = a
	}
	var missing, stray []string
	first := ""
	for _, pr := range problems {
		a := byIndex[pr.Index]
		text := ""
		switch pr.Kind {
		case flags.AmbiguousFlag:
			return fmt.Sprintf("ambiguous option: %s could match %s", pr.Flag, strings.Join(pr.Near, ", "))
		case flags.MissingFlag:
			if !slices.Contains(given, pr.Flag) {
				missing = append(missing, pr.Flag)
			}
		case flags.MissingValue:
			text = "expected one argument"
			if a.Flag.Nargs == "+" {
				text = "expected at least one argument"
			}
		case flags.BadChoice:
			bad := a.Values[0]
			for _, v := range a.Values {
				if !slices.Contains(a.Flag.Choices, v) {
					bad = v
					break
				}
			}
			text = fmt.Sprintf("invalid choice: %s (choose from %s)", quoteAs(a.Flag, bad), quoteAll(a.Flag))
		case flags.BadValue:
			if a.Flag.Switch() {
				_, value, _ := strings.Cut(pr.Flag, "=")
				text = "ignored explicit argument " + quote(value)
				break
			}
			text = fmt.Sprintf("invalid %s value: %s", a.Flag.Type, quote(badValue(table.Engine, a)))
		case flags.DeprecatedFlag:
		default: // unknown here, whatever other releases say
			stray = append(stray, pr.Flag)
			if a.Flag == nil && a.Name != "" {
				stray = append(stray, a.Values...)
			}
		}
		if text != "" && first == "" {
			first = argument(a.Flag) + text
		}
	}
	switch {
	case first != "":
		return first
	case len(missing) > 0:
		return "the following arguments are required: " + strings.Join(missing, ", ")
	case len(stray) > 0:
		return "unrecognized arguments: " + strings.Join(stray, " ")
	}
	return ""
}

func badValue(engine string, a flags.Arg) string {
	for _, v := range a.Values {
		if _, err := convert(engine, a.Flag.Type, v); err != nil {
			return v
		}
	}
	return a.Values[0]
}

func quote(s string) string { return "'" + s + "'" }

func quoteAll(f *flags.Flag) string {
	out := make([]string, len(f.Choices))
	for i, c := range f.Choices {
		out[i] = quoteAs(f, c)
	}
	return strings.Join(out, ", ")
}

// quoteAs prints a value as Python does when the flag's type has read it.
func quoteAs(f *flags.Flag, value string) string {
	if f.Type == "int" || f.Type == "float" {
		return value
	}
	return quote(value)
}

// Defaults are the settings of a launch without any option.
func Defaults(table *flags.Table) map[string]any {
	out := map[string]any{}
	for _, f := range table.Flags() {
		if w := table.Setting(f.Setting); w == f {
			out[f.Setting] = defaultOf(f)
		}
	}
	return out
}

func defaultOf(f *flags.Flag) any {
	switch f.Default {
	case "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	case "[]":
		return []any{}
	}
	switch f.Type {
	case "int", "float", "human_readable_int":
		if n, err := strconv.Atoi(f.Default); err == nil && f.Type != "float" {
			return n
		}
		if x, err := strconv.ParseFloat(f.Default, 64); err == nil {
			return x
		}
	}
	return f.Default
}

// typed is the value of an argument as the parser's converter makes it.
func typed(engine string, a flags.Arg) (any, error) {
	f := a.Flag
	switch {
	case f.Action == "DeprecatedStoreConst":
		_, value, _ := strings.Cut(f.ReplacedBy, "=")
		return value, nil
	case f.Switch():
		return a.Values[len(a.Values)-1] == "True", nil
	case f.Nargs == "*" || f.Nargs == "+":
		out := make([]any, 0, len(a.Values))
		for _, w := range a.Values {
			v, err := convert(engine, f.Type, w)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case len(a.Values) == 0:
		return nil, nil // nargs "?"
	}
	return convert(engine, f.Type, a.Values[0])
}

// convert applies one of the converters that the engines' parsers name.
func convert(engine, kind, text string) (any, error) {
	bad := fmt.Errorf("invalid %s value: %s", kind, quote(text))
	number := strings.ReplaceAll(strings.TrimSpace(text), "_", "")
	switch kind {
	case "int":
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, bad
		}
		return n, nil
	case "float":
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, bad
		}
		return x, nil
	case "loads":
		return Literal(text)
	case "nullable_str":
		if text == "" || text == "None" {
			return nil, nil
		}
	case "human_readable_int":
		return humanInt(engine, number, bad)
	}
	return text, nil
}

// Literal reads a JSON value into what Python would hold.
func Literal(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("invalid loads value: %s", quote(text))
	}
	return python(v), nil
}

func python(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		x, _ := v.Float64()
		return x
	case []any:
		for i := range v {
			v[i] = python(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = python(v[k])
		}
	}
	return v
}

// units of human readable numbers, by engine: vLLM takes small letters as
// decimal and capitals as binary (vllm/engine/arg_utils.py human_readable_int,
// 0.16), SGLang follows SI and IEC (sglang/srt/utils/common.py
// human_readable_int, 0.5.23).
var units = map[string]map[string]float64{
	"vllm": {
		"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12,
		"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40,
	},
	"sglang": {
		"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
	},
}

func humanInt(engine, text string, bad error) (any, error) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, nil
	}
	digits := strings.TrimRight(text, "kmgtKMGTi")
	scale, ok := units[engine][text[len(digits):]]
	x, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil {
		return nil, bad
	}
	return int(x * scale), nil
}
