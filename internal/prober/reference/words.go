package reference

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/oracle/tokenizer"
	"shakedown/internal/probe"
)

// words finds the ids of tokens by the texts that servers show.
type words struct {
	t *tokenizer.Tokenizer
	// by has the ids by bytes, by spelling in the vocabulary, and by what is shown
	// for bytes that are no characters; several where a text has several ids. The
	// first of them that has a text decides.
	by [3]map[string]int
}

// several stands for the ids of a text that has more than one.
const several = -1

func index(t *tokenizer.Tokenizer) *words {
	w := &words{t: t}
	for i := range w.by {
		w.by[i] = map[string]int{}
	}
	for id := range t.Size() {
		spelled, ok := t.Token(id)
		if !ok {
			continue
		}
		raw := t.Raw(id)
		for i, text := range [3]string{raw, spelled, strings.ToValidUTF8(raw, "\uFFFD")} {
			if _, taken := w.by[i][text]; taken {
				id := several
				w.by[i][text] = id
				continue
			}
			w.by[i][text] = id
		}
	}
	return w
}

// id is that of a token as a server shows it, -1 when it can't be told.
func (w *words) id(id int, bytes []byte, text string) int {
	if id >= 0 {
		return id
	}
	if bytes != nil {
		text = string(bytes)
	}
	for _, by := range w.by {
		if id, ok := by[text]; ok && text != "" {
			return id
		}
	}
	return -1
}

// known is a text whose tokens have ids.
type known struct {
	ids  []int   // prompt and answer
	from int     // the first of them whose logprobs were told
	skip int     // so many of those told come without a place in ids, or without a logprob
	told [][]int // ids of the tokens listed with each told one; -1: not known
}

// errTokens says that the tokens of the server are not those of this tokenizer.
var errTokens = errors.New("the tokens that the server shows are not those of the checkpoint's tokenizer: is it the same model?")

// find gives the tokens of a text their ids. The answer ends before the first token
// that has none.
func (w *words) find(t *probe.Text) (*known, error) {
	prompt, err := w.prompt(t)
	if err != nil {
		return nil, err
	}
	k := &known{ids: slices.Clone(prompt), from: len(prompt)}
	switch n := len(t.Echoed); {
	case n == len(prompt):
		k.from, k.skip = 0, min(n, 1)
	default: // not told from the beginning, so there is no saying what they are
		k.from, k.skip = len(prompt)-n, n
	}
	for i := range t.Echoed {
		k.told = append(k.told, w.listed(&t.Echoed[i]))
	}
	exact := true
	for i := range t.Answer {
		a := &t.Answer[i]
		id := w.id(a.ID, a.Bytes, a.Text)
		if id < 0 {
			break
		}
		exact = exact && a.ID >= 0
		k.ids = append(k.ids, id)
		k.told = append(k.told, w.listed(a))
	}
	if !exact && !w.agrees(k.ids[len(prompt):], t.Said) {
		return nil, errTokens
	}
	return k, nil
}

func (w *words) listed(t *probe.Token) []int {
	ids := make([]int, len(t.Top))
	for i, r := range t.Top {
		ids[i] = w.id(r.ID, nil, r.Text)
	}
	return ids
}

// prompt are the ids of a prompt: those that the server told, or our own tokenizer's
// when there are as many as the server counts.
func (w *words) prompt(t *probe.Text) ([]int, error) {
	if len(t.IDs) > 0 {
		return t.IDs, nil
	}
	with, without := w.t.Encode(t.Prompt, true), w.t.Encode(t.Prompt, false)
	for _, ids := range [][]int{with, without} {
		if len(ids) > 0 && (t.Count < 0 || len(ids) == t.Count) {
			return ids, nil
		}
	}
	return nil, fmt.Errorf("the server counts %d tokens in the prompt of request %d, the checkpoint's tokenizer %d: is it the same model?", t.Count, t.Asked, len(with))
}

// agrees says whether ids that were found by their texts make the answer's text,
// as far as they go. Control tokens need not show in it.
func (w *words) agrees(ids []int, said string) bool {
	trim := func(s string) string { return strings.TrimLeft(strings.ToValidUTF8(s, "\uFFFD"), " ") }
	said = trim(said)
	for _, skip := range []bool{true, false} {
		s := w.t.Stream(skip)
		var b strings.Builder
		for _, id := range ids {
			b.WriteString(s.Next(id))
		}
		if strings.HasPrefix(said, strings.TrimRight(trim(b.String()), "\uFFFD")) {
			return true
		}
	}
	return false
}
