package ledger

import (
	"slices"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/fact"
)

// chosen settles a selection line beside the dump of the same setting. A dump
// that was printed later shows what became of the choice; an earlier one knew
// nothing of it yet, and a value that leaves the choice open gives way to it.
// It reports whether the choice stands.
func (e *Entry) chosen(value string, at fact.Pos) bool {
	if value == "" {
		return true
	}
	if e.Known && !Same(value, e.Effective) && !open(e.Effective) && e.dump.File == at.File && e.dump.Line > at.Line {
		return false
	}
	e.Effective, e.Known = value, true
	return true
}

// hidesOptions: a part of the command is not spelled out, so that what it does
// not show may have been asked all the same.
func hidesOptions(cmd *command.Command) bool {
	return slices.ContainsFunc(cmd.Options(), func(o string) bool {
		return strings.ContainsAny(o, "$`") || o == "--config" || strings.HasPrefix(o, "--config=")
	})
}

// dtypes are the short names that engines take for a data type.
var dtypes = map[string]string{"half": "float16", "fp16": "float16", "bf16": "bfloat16", "float": "float32", "fp32": "float32"}

// Same compares values as the engines print them: 'None' and "", True and
// true, 8 and 8.0, bfloat16 and torch.bfloat16 are the same.
func Same(a, b string) bool { return a == b || norm(a) == norm(b) }

func norm(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `'"`)
	switch strings.ToLower(s) {
	case "none", "":
		return ""
	case "true":
		return "true"
	case "false":
		return "false"
	}
	s = strings.TrimPrefix(strings.TrimSuffix(s, ".0"), "torch.")
	if long, ok := dtypes[s]; ok {
		return long
	}
	return s
}
