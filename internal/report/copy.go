package report

import (
	"reflect"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/redact"
	"shakedown/internal/term"
)

// copier copies messages, so that handlers may keep them, and makes their
// strings safe on the way: redacted when asked, and never with a control
// character.
type copier struct {
	redact *redact.Redactor // nil: off
}

// message returns a deep copy of m.
func (c copier) message(m finding.Message) finding.Message {
	out := reflect.New(reflect.TypeOf(m).Elem())
	c.value(out.Elem(), reflect.ValueOf(m).Elem(), "")
	cp := out.Interface().(finding.Message)
	if c.redact != nil {
		c.byName(cp)
	}
	return cp
}

// value copies src to dst. Reflection makes sure that no string of a message
// is forgotten, also not of one that is added to the contract later.
func (c copier) value(dst, src reflect.Value, field string) {
	switch src.Kind() {
	case reflect.String:
		dst.SetString(c.text(field, src.String()))
	case reflect.Struct:
		for i := range src.NumField() {
			c.value(dst.Field(i), src.Field(i), src.Type().Field(i).Name)
		}
	case reflect.Pointer:
		if !src.IsNil() {
			dst.Set(reflect.New(src.Type().Elem()))
			c.value(dst.Elem(), src.Elem(), field)
		}
	case reflect.Slice:
		dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
		for i := range src.Len() {
			c.value(dst.Index(i), src.Index(i), field)
		}
	case reflect.Map:
		dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
		for it := src.MapRange(); it.Next(); {
			v := reflect.New(src.Type().Elem()).Elem()
			c.value(v, it.Value(), field)
			dst.SetMapIndex(reflect.ValueOf(c.text(field, it.Key().String())), v)
		}
	default:
		dst.Set(src)
	}
}

// text makes one string safe. Only a script may have several lines.
func (c copier) text(field, s string) string {
	if c.redact != nil {
		s = c.redact.Text(s)
	}
	if field != "Script" {
		return strings.TrimSpace(term.Clean(s))
	}
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = term.Clean(l)
	}
	return strings.Join(lines, "\n")
}

// byName redacts the values whose secrecy shows only in the name that stands
// in another string beside them.
func (c copier) byName(m finding.Message) {
	switch m := m.(type) {
	case *finding.LaunchMsg:
		m.Command = c.redact.Args(m.Command)
		for i := range m.Facts {
			m.Facts[i].Value = c.redact.Value(m.Facts[i].Key, m.Facts[i].Value)
		}
	case *finding.SettingMsg:
		m.Effective = c.redact.Value(m.Name, m.Effective)
		c.pointer(m.Name, m.Asked.Value)
	case *finding.RefusedMsg:
		for i := range m.Remedies {
			c.remedy(&m.Remedies[i])
		}
	case *finding.IgnoredMsg:
		m.Asked, m.Effective = c.redact.Value(m.Name, m.Asked), c.redact.Value(m.Name, m.Effective)
		for i := range m.Remedies {
			c.remedy(&m.Remedies[i])
		}
	case *finding.FindingMsg:
		for i := range m.Captures {
			m.Captures[i].Value = c.redact.Value(m.Captures[i].Name, m.Captures[i].Value)
		}
		for i := range m.Remedies {
			c.remedy(&m.Remedies[i])
		}
		c.answers(m.Evidence)
	case *finding.ProbeMsg:
		c.answers(m.Evidence)
	case *finding.ExchangeMsg:
		if m.Status == http200 { // an error is the server's word, not the model's
			m.Answer = c.redact.Value("text", m.Answer)
		}
	case *finding.BaselineMsg:
		for i := range m.Changes {
			ch := &m.Changes[i]
			name := ch.Name
			if ch.Kind == "answer" {
				name = "text"
			}
			ch.Then, ch.Now = c.redact.Value(name, ch.Then), c.redact.Value(name, ch.Now)
		}
	case *finding.ConclusionMsg:
		for i := range m.Next {
			c.remedy(&m.Next[i])
		}
	}
}

// http200 is the status of an answer that a model gave.
const http200 = 200

// answers redacts what a model said.
func (c copier) answers(es []finding.Evidence) {
	for i, e := range es {
		if e.Kind == "request" {
			es[i].Text = c.redact.Value("text", e.Text)
		}
	}
}

func (c copier) remedy(r *finding.Remedy) {
	r.Command = c.redact.Args(r.Command)
	for name, v := range r.Env {
		r.Env[name] = c.redact.Value(name, v)
	}
	for i := range r.Changes {
		c.pointer(r.Changes[i].Name, r.Changes[i].From)
		c.pointer(r.Changes[i].Name, r.Changes[i].To)
	}
}

func (c copier) pointer(name string, v *string) {
	if v != nil {
		*v = c.redact.Value(name, *v)
	}
}
