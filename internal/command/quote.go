package command

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

var safe = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Quote writes text as one word of a POSIX shell that means exactly that text:
// nothing in it is expanded or run. Control characters and invalid UTF-8 are
// written as $'\x1b' (bash, zsh, ksh), so that printing the word cannot move
// the cursor; NUL, which no argument can hold, is left out.
func Quote(text string) string {
	if safe.MatchString(text) {
		return text
	}
	if !needsEscapes(text) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case text[0] == 0:
		case r == '\'' || r == '\\':
			b.WriteString(`\` + text[:n])
		case r == utf8.RuneError && n == 1, control(r):
			for _, c := range []byte(text[:n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	b.WriteString("'")
	return b.String()
}

func needsEscapes(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, control)
}

// control holds the C0 and C1 controls, without tab and line end, and the
// marks that reorder what is shown.
func control(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 ||
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// language is how a wrapper writes text and references to variables.
type language struct {
	text      func(string) string // text that means itself
	reference func(name string) string
	// outer says that whoever reads the wrapper resolves references. Otherwise
	// they are resolved from the environment that the wrapper itself sets.
	outer bool
}

// spell writes a word.
func (l language) spell(w Word) string {
	if w.Raw != "" {
		return w.Raw
	}
	return l.text(w.Text)
}

// shellLanguage is that of scripts and command lines.
var shellLanguage = language{text: Quote, reference: func(name string) string { return `"$` + name + `"` }, outer: true}

// braced is the reference of compose files and units.
func braced(name string) string { return "${" + name + "}" }

// shellWord writes a word for a shell.
func shellWord(w Word) string { return shellLanguage.spell(w) }
