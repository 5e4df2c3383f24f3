package report

import (
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"shakedown/internal/finding"
)

var formats = map[string]constructor{"text": NewText, "markdown": NewMarkdown, "html": NewHTML, "junit": NewJUnit}

// poison returns a stream in which every string is s.
func poison(s string) []finding.Message {
	ms := incident()
	for _, m := range ms {
		fill(reflect.ValueOf(m).Elem(), s)
	}
	for _, m := range ms {
		switch m := m.(type) {
		case *finding.LaunchMsg:
			m.Outcome = finding.ReadyThenFailed
		case *finding.FindingMsg:
			m.Role = "cause"
		}
	}
	return append(ms, &finding.ErrorMsg{Text: s, Next: s}, &finding.UnexplainedMsg{Launch: 1, Count: 1, Line: 1, Text: s})
}

func fill(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), s)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), s)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), s)
		}
	}
}

func FuzzHostileText(f *testing.F) {
	for _, s := range []string{
		"plain", "</pre><script>alert(1)</script>", "``` \n```\n<img src=x>", "a|b`c\\|d", "@everyone #1 [x](javascript:1)", "\x1b]0;t\x07\x1b[31m",
		"javascript:alert(1)", "https://\"onmouseover=x", "# heading", "- [ ] list", "1. x", "1) x", "---", "<details>", "&lt;b&gt;", "]]>", "\x00\x01\xff\ufffe",
		"名前 e\u0301 \u202e", "{{.}}", "~~~", "    indented", "=", "$x$", "`", "``", "ends with \\", "a\n\n<b>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 {
			return
		}
		ms := poison(s)
		for name, make := range formats {
			out := render(t, make, Options{Files: []string{s, "b.log"}, Full: true}, ms)
			for _, r := range out {
				if unicode.IsControl(r) && r != '\n' {
					t.Fatalf("%s lets %U through", name, r)
				}
			}
			switch name {
			case "markdown":
				checkMarkdown(t, out)
			case "html":
				checkMarkup(t, out, htmlElements)
			case "junit":
				checkMarkup(t, out, junitElements)
			}
		}
	})
}

const (
	htmlElements  = " html head meta title style body h1 h2 h3 p span table tr th td code pre a details summary article svg rect text "
	junitElements = " testsuites testsuite testcase failure error skipped system-out "
)

// attributes that the formats use, none of which runs anything.
const attributes = " lang charset http-equiv content name class href viewBox role aria-label x y width height text-anchor tests failures errors skipped classname message type time "

// checkMarkup checks that text of the stream made no element or attribute.
func checkMarkup(t *testing.T, out, elements string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.ReplaceAll(out, "<!DOCTYPE html>", "")))
	if elements == htmlElements {
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, out)
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if !strings.Contains(elements, " "+e.Name.Local+" ") {
			t.Fatalf("foreign element %s:\n%s", e.Name.Local, out)
		}
		for _, a := range e.Attr {
			if !strings.Contains(attributes, " "+a.Name.Local+" ") {
				t.Fatalf("foreign attribute %s:\n%s", a.Name.Local, out)
			}
			if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "https://") {
				t.Fatalf("link to %s", a.Value)
			}
		}
	}
}

var (
	ownMarkup = regexp.MustCompile(`^(<details><summary>[A-Za-z0-9 ()]*</summary>|</details>)$`)
	ownStart  = regexp.MustCompile(`^(### |\*\*|\| |\|---|- |> |[a-z0-9]+\. |\\|_Made by)`)
)

// checkMarkdown checks that fences close and that nothing outside of code is
// markup that the report did not write.
func checkMarkdown(t *testing.T, out string) {
	t.Helper()
	fence := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "":
			if len(ticks) >= len(fence) && ticks == line {
				fence = ""
			}
			continue
		case len(ticks) >= 3 && (line == ticks+"text" || line == ticks+"sh"):
			fence = ticks
			continue
		case ownMarkup.MatchString(line):
			continue
		}
		rest := withoutCode(line)
		if strings.ContainsAny(strings.TrimPrefix(rest, "> "), "<>@") {
			t.Fatalf("markup outside of code: %q\n%s", line, out)
		}
		if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "### ") {
			t.Fatalf("unexpected block: %q", line)
		}
		if i := strings.IndexAny(line, "-+=:#"); i == 0 && !ownStart.MatchString(line) {
			t.Fatalf("text starts a block: %q", line)
		}
	}
	if fence != "" {
		t.Fatalf("a fence stays open:\n%s", out)
	}
}

// withoutCode removes code spans and escaped characters from a line
// (CommonMark 6.1).
func withoutCode(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		switch line[i] {
		case '\\':
			i += 2
			continue
		case '`':
			run := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			end := closing(line[i+run:], run)
			if end >= 0 {
				i += run + end + run
				continue
			}
			i += run
			continue
		}
		b.WriteByte(line[i])
		i++
	}
	return b.String()
}

// closing is the offset of the next run of exactly n backticks, or -1.
func closing(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == n {
			return i
		}
		i += run
	}
	return -1
}
