package endpoint

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
)

// Key is a secret that is sent with each request. It prints as a placeholder in
// every form; only Reveal gives it away.
type Key struct{ secret string }

// NewKey wraps a secret; white space around it (the line end of a file) is no
// part of it.
func NewKey(secret string) Key { return Key{strings.TrimSpace(secret)} }

// keyMark stands where the key would be.
const keyMark = "<key>"

// IsZero says that there is no key.
func (k Key) IsZero() bool { return k.secret == "" }

// Reveal is the secret itself, for the header of a request and nothing else.
func (k Key) Reveal() string { return k.secret }

// String hides the key.
func (k Key) String() string {
	if k.IsZero() {
		return ""
	}
	return keyMark
}

// GoString hides the key from %#v.
func (k Key) GoString() string { return "endpoint.Key(" + k.String() + ")" }

// MarshalText hides the key from JSON and text encoders.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue hides the key from logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// leastKey is the length from which on a key is looked for in what a server says:
// shorter ones are words ("none", "EMPTY") that servers without a key are given,
// and would be found in innocent text.
const leastKey = 6

// forms are the spellings of the key that a server may send back.
func (k Key) forms() []string {
	if len(k.secret) < leastKey {
		return nil
	}
	forms := []string{k.secret}
	if quoted, err := json.Marshal(k.secret); err == nil {
		if inner := string(quoted[1 : len(quoted)-1]); inner != k.secret {
			forms = append(forms, inner)
		}
	}
	return forms
}

// hide replaces the key in what a server said.
func (k Key) hide(data []byte) []byte {
	for _, f := range k.forms() {
		data = bytes.ReplaceAll(data, []byte(f), []byte(keyMark))
	}
	return data
}

func (k Key) hideText(s string) string {
	for _, f := range k.forms() {
		s = strings.ReplaceAll(s, f, keyMark)
	}
	return s
}
