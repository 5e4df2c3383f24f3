package compare

import (
	"regexp"
	"slices"
	"strings"

	"shakedown/internal/command"
)

// sameValue compares values as engines and command lines spell them: None and
// nothing, True and true, 8 and 8.0, 'auto' and auto are the same.
func sameValue(a, b string) bool {
	a, b = bare(a), bare(b)
	if strings.EqualFold(a, b) {
		return true
	}
	x, okA := number(a)
	y, okB := number(b)
	return okA && okB && x == y
}

func bare(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `'"`)
	if s == "None" {
		return ""
	}
	return strings.TrimPrefix(s, "torch.")
}

// temporary matches what is made anew for each launch: temporary folders, the
// ports of addresses, object addresses, process and universally unique ids.
var temporary = regexp.MustCompile(`/tmp/[^/\s,'"]+|\btmp[a-z0-9_]{6,}|(://[\w.\[\]-]*):\d+|\b0x[0-9a-fA-F]+|\bpid[-_=]?\d+|` +
	`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// sameButTemporary says that two values differ only in such parts.
func sameButTemporary(a, b string) bool {
	return temporary.ReplaceAllString(a, "$1*") == temporary.ReplaceAllString(b, "$1*")
}

// Words and ends in the names of settings that differ between launches without
// changing how a model is served.
var (
	incidentalWords = []string{
		"port", "ports", "host", "addr", "address", "ip", "url", "endpoint", "seed", "pid", "uuid", "nonce", "timestamp",
	}
	incidentalEnds = regexp.MustCompile(`(?:node_rank|engine_id|instance_id|served_model_name|^alias|^a)$`)
	nameSeparator  = regexp.MustCompile(`[^A-Za-z0-9]+`)
)

// isIncidental judges a setting or flag by the words of its name.
func isIncidental(name string) bool {
	words := nameSeparator.Split(strings.ToLower(name), -1)
	isOne := func(w string) bool { return slices.Contains(incidentalWords, w) }
	return slices.ContainsFunc(words, isOne) || incidentalEnds.MatchString(undashed(name)) || command.SecretName(name)
}

// isOpen tells the values that leave the choice to the engine: what ran is not
// known.
func isOpen(v string) bool { return v == "auto" || bare(v) == "" }
