package probe

import (
	"strings"
	"unicode/utf8"
)

// textOfTokens is what tokens say as text; ok is false when they cannot be sent
// again as text: half a character, or a control token.
func textOfTokens(tokens []Token) (string, bool) {
	var b strings.Builder
	for _, t := range tokens {
		switch {
		case t.Bytes != nil:
			b.Write(t.Bytes)
		default:
			b.WriteString(t.Text)
		}
	}
	text := b.String()
	return text, utf8.ValidString(text) && !strings.ContainsRune(text, utf8.RuneError)
}

// whole says whether tokens end at the end of a character.
func whole(tokens []Token) bool {
	_, ok := textOfTokens(tokens)
	return ok
}
