// Package clean takes keys and passwords out of messages: those that a quoted
// log line, a value or the name of a file may hold reach no output, redacted or
// not.
package clean

import (
	"reflect"
	"slices"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/redact"
)

// Secrets cleans messages. It is not safe for concurrent use.
type Secrets struct {
	redactor *redact.Redactor
	harmless map[string]bool // strings without secrets
}

// NewSecrets returns a cleaner that knows no string yet.
func NewSecrets() *Secrets {
	return &Secrets{redactor: redact.NewSecrets(), harmless: map[string]bool{}}
}

// Message takes the secrets out of every string of a message. Commands are left
// as they are: references stand for their secrets, in quotes of a shell.
func (c *Secrets) Message(m finding.Message) { c.value(reflect.ValueOf(m).Elem()) }

// commandFields are the fields that hold a command, by their index: looking up
// their names each time is slow.
var commandFields = map[reflect.Type][]int{
	reflect.TypeFor[finding.LaunchMsg](): indexes(reflect.TypeFor[finding.LaunchMsg](), "Command"),
	reflect.TypeFor[finding.Remedy]():    indexes(reflect.TypeFor[finding.Remedy](), "Command", "Script"),
}

func indexes(t reflect.Type, names ...string) []int {
	var out []int
	for i := range t.NumField() {
		if slices.Contains(names, t.Field(i).Name) {
			out = append(out, i)
		}
	}
	return out
}

// maxHarmless bounds the strings that are remembered as free of secrets: names of
// files and settings and words of rules, which come again and again.
const maxHarmless = 4096

func (c *Secrets) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		if c.harmless[s] {
			return
		}
		// Only what changes is written: a message may share memory with a rule.
		if safe := c.redactor.Text(s); safe != s {
			v.SetString(safe)
		} else if len(c.harmless) < maxHarmless {
			c.harmless[strings.Clone(s)] = true // s may be a small part of a large text
		}
	case reflect.Struct:
		hold := commandFields[v.Type()]
		for i := range v.NumField() {
			if !slices.Contains(hold, i) {
				c.value(v.Field(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			c.value(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.value(v.Index(i))
		}
	}
}
