package match

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode"
)

// need is what a text must hold to match an expression, as far as literals can
// say it: a tree of "all of" and "any of". The zero need demands nothing.
type need struct {
	literal string
	all     []need
	any     []need
}

// metBy reports whether text holds what is needed.
func (n *need) metBy(text []byte) bool {
	if n.literal != "" {
		return bytes.Contains(text, []byte(n.literal))
	}
	for i := range n.all {
		if !n.all[i].metBy(text) {
			return false
		}
	}
	for i := range n.any {
		if n.any[i].metBy(text) {
			return true
		}
	}
	return len(n.any) == 0
}

func (n *need) empty() bool { return n.literal == "" && len(n.all) == 0 && len(n.any) == 0 }

// needOf derives the need from the structure of an expression. With fold, the
// literals are in lower case and the need holds for ASCII text in lower case.
func needOf(re *syntax.Regexp, fold bool) need {
	if words := wordsOf(re, fold); words != nil {
		return anyWord(words)
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return needOf(re.Sub[0], fold)
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needOf(re.Sub[0], fold)
		}
	case syntax.OpConcat:
		return needOfSequence(re.Sub, fold)
	case syntax.OpAlternate:
		return needOfBranches(re.Sub, fold)
	}
	return need{}
}

// needOfSequence joins neighbouring parts that are words, so that "kv[ _]cache"
// needs one of two literals instead of its pieces.
func needOfSequence(parts []*syntax.Regexp, fold bool) need {
	var out need
	run := []string{""}
	flush := func() {
		if n := anyWord(run); !n.empty() {
			out.all = append(out.all, n)
		}
		run = []string{""}
	}
	for _, part := range parts {
		repeated := part.Op == syntax.OpPlus
		if repeated {
			part = part.Sub[0]
		}
		words := wordsOf(part, fold)
		joined := product(run, words)
		if joined == nil {
			flush()
			joined = words
		}
		switch {
		case words == nil:
			if n := needOf(part, fold); !n.empty() {
				out.all = append(out.all, n)
			}
		case repeated: // ends with one of the words, whatever is between
			run = joined
			flush()
			run = words
		default:
			run = joined
		}
	}
	flush()
	return out
}

func needOfBranches(branches []*syntax.Regexp, fold bool) need {
	var out need
	for _, branch := range branches {
		n := needOf(branch, fold)
		if n.empty() {
			return need{}
		}
		out.any = append(out.any, n)
	}
	return out
}

// anyWord needs one of the words; the empty word is in every text.
func anyWord(words []string) need {
	var out need
	for _, w := range words {
		if w == "" {
			return need{}
		}
		out.any = append(out.any, need{literal: w})
	}
	return out
}

// maxWords bounds the texts that stand for a part of an expression.
const maxWords = 16

// wordsOf lists all texts that an expression matches, nil when they are many.
func wordsOf(re *syntax.Regexp, fold bool) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return literalWords(re, fold)
	case syntax.OpCharClass:
		return classWords(re.Rune, fold)
	case syntax.OpCapture:
		return wordsOf(re.Sub[0], fold)
	case syntax.OpQuest:
		return union([][]string{{""}, wordsOf(re.Sub[0], fold)})
	case syntax.OpConcat:
		words := []string{""}
		for _, sub := range re.Sub {
			words = product(words, wordsOf(sub, fold))
		}
		return words
	case syntax.OpAlternate:
		var lists [][]string
		for _, sub := range re.Sub {
			lists = append(lists, wordsOf(sub, fold))
		}
		return union(lists)
	}
	return nil
}

func literalWords(re *syntax.Regexp, fold bool) []string {
	if fold {
		return []string{lower(re.Rune)}
	}
	return []string{string(re.Rune)}
}

// classWords lists the characters of a class, given as pairs of bounds.
func classWords(bounds []rune, fold bool) []string {
	var words []string
	for i := 0; i < len(bounds); i += 2 {
		for r := bounds[i]; r <= bounds[i+1]; r++ {
			if len(words) == maxWords {
				return nil
			}
			word := string(r)
			if fold {
				word = lower([]rune{r})
			}
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func lower(text []rune) string {
	out := make([]rune, len(text))
	for i, r := range text {
		out[i] = unicode.ToLower(r)
	}
	return string(out)
}

// product joins every word of a with every word of b; nil when one of them is
// nil or the words are many.
func product(a, b []string) []string {
	if len(a)*len(b) > maxWords {
		return nil
	}
	var out []string
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out
}

// union is nil when one of the lists is nil or the words are many.
func union(lists [][]string) []string {
	var out []string
	for _, list := range lists {
		if list == nil || len(out)+len(list) > maxWords {
			return nil
		}
		out = append(out, list...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
