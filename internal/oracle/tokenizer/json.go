package tokenizer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// FromJSON reads a tokenizer.json. A part of it that is not supported is
// ErrUnsupported, wrapped with its name; all other errors say where the file is
// wrong. The file may have MaxFile bytes at most.
func FromJSON(data []byte) (*Tokenizer, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("tokenizer: larger than %d MiB", MaxFile>>20)
	}
	var f struct {
		Version       string          `json:"version"`
		Truncation    json.RawMessage `json:"truncation"` // a limit of the caller's, not of the vocabulary
		Padding       json.RawMessage `json:"padding"`
		AddedTokens   []addedToken    `json:"added_tokens"`
		Normalizer    json.RawMessage `json:"normalizer"`
		PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
		PostProcessor json.RawMessage `json:"post_processor"`
		Decoder       json.RawMessage `json:"decoder"`
		Model         json.RawMessage `json:"model"`
	}
	if err := strict(data, &f); err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	t := new(Tokenizer)
	var err error
	if t.normalize, err = readNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	if err := t.readSplit(f.PreTokenizer); err != nil {
		return nil, err
	}
	vocabulary, err := t.readModel(f.Model)
	if err != nil {
		return nil, err
	}
	if err := t.setVocabulary(vocabulary, f.AddedTokens); err != nil {
		return nil, err
	}
	if err := t.readDecoder(f.Decoder); err != nil {
		return nil, err
	}
	if err := t.readPost(f.PostProcessor); err != nil {
		return nil, err
	}
	return t, nil
}

// strict decodes one JSON value and refuses fields that v has no place for.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("text behind the JSON value")
	}
	return nil
}

// absent says that a component is not there.
func absent(data json.RawMessage) bool { return len(data) == 0 || string(data) == "null" }

// kind reads the type of a component.
func kind(data json.RawMessage) (string, error) {
	var k struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &k); err != nil {
		return "", fmt.Errorf("tokenizer: %w", err)
	}
	return k.Type, nil
}

// textPattern is a pattern of a Split or Replace: a text or an expression.
type textPattern struct {
	String *string
	Regex  *string
}

func (p textPattern) finder() (finder, error) {
	switch {
	case p.String != nil && p.Regex == nil:
		return literally(*p.String), nil
	case p.Regex != nil && p.String == nil:
		compiled, err := compilePattern(*p.Regex)
		if err != nil {
			return nil, fmt.Errorf("tokenizer: %w: %w", err, ErrUnsupported)
		}
		return compiled.find, nil
	}
	return nil, errors.New("tokenizer: a pattern must be either a String or a Regex")
}

func readNormalizer(data json.RawMessage) ([]normalizer, error) {
	if absent(data) {
		return nil, nil
	}
	name, err := kind(data)
	if err != nil {
		return nil, err
	}
	switch name {
	case "NFC", "NFD", "NFKC", "NFKD":
		form := map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}[name]
		return []normalizer{form.String}, nil
	case "Lowercase":
		return []normalizer{strings.ToLower}, nil
	case "Prepend":
		var c struct{ Type, Prepend string }
		if err := strict(data, &c); err != nil {
			return nil, fmt.Errorf("tokenizer: normalizer Prepend: %w", err)
		}
		return []normalizer{func(s string) string {
			if s == "" {
				return s
			}
			return c.Prepend + s
		}}, nil
	case "Replace":
		r, err := readReplace(data)
		return []normalizer{r}, err
	case "Precompiled":
		n, err := readPrecompiled(data)
		return []normalizer{n}, err
	case "Strip":
		n, err := readStrip(data)
		return []normalizer{n}, err
	case "Sequence":
		var c struct {
			Type        string
			Normalizers []json.RawMessage
		}
		if err := strict(data, &c); err != nil {
			return nil, fmt.Errorf("tokenizer: normalizer Sequence: %w", err)
		}
		var all []normalizer
		for _, one := range c.Normalizers {
			ns, err := readNormalizer(one)
			if err != nil {
				return nil, err
			}
			all = append(all, ns...)
		}
		return all, nil
	}
	return nil, unsupported("normalizer", name)
}

// readReplace reads the Replace of normalizers and decoders.
func readReplace(data json.RawMessage) (normalizer, error) {
	var c struct {
		Type    string
		Pattern textPattern
		Content string
	}
	if err := strict(data, &c); err != nil {
		return nil, fmt.Errorf("tokenizer: Replace: %w", err)
	}
	find, err := c.Pattern.finder()
	if err != nil {
		return nil, err
	}
	return func(s string) string {
		var b strings.Builder
		at := 0
		for {
			lo, hi := find(s, at)
			if lo < 0 {
				break
			}
			b.WriteString(s[at:lo] + c.Content)
			at = hi
		}
		return b.String() + s[at:]
	}, nil
}

// readStrip reads the normalizer that takes white space from the ends of a text.
func readStrip(data json.RawMessage) (normalizer, error) {
	var c struct {
		Type  string
		Left  bool `json:"strip_left"`
		Right bool `json:"strip_right"`
	}
	if err := strict(data, &c); err != nil {
		return nil, fmt.Errorf("tokenizer: normalizer Strip: %w", err)
	}
	return func(s string) string {
		if c.Left {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
		if c.Right {
			s = strings.TrimRightFunc(s, unicode.IsSpace)
		}
		return s
	}, nil
}

// gpt2 is the split that the ByteLevel component brings along.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// byteLevel is the component of that name, in all its places.
type byteLevel struct {
	Type           string `json:"type"`
	AddPrefixSpace bool   `json:"add_prefix_space"`
	TrimOffsets    bool   `json:"trim_offsets"` // about positions, which nobody asks for here
	UseRegex       *bool  `json:"use_regex"`    // true where it is left out
}

// readSplit reads the pre-tokenizer.
func (t *Tokenizer) readSplit(data json.RawMessage) error {
	if absent(data) {
		return nil
	}
	name, err := kind(data)
	if err != nil {
		return err
	}
	wrong := func(err error) error { return fmt.Errorf("tokenizer: pre_tokenizer %s: %w", name, err) }
	if t.bytes {
		return wrong(errors.New("something follows ByteLevel, which must be the last"))
	}
	switch name {
	case "Sequence":
		var c struct {
			Type          string
			PreTokenizers []json.RawMessage
		}
		if err := strict(data, &c); err != nil {
			return wrong(err)
		}
		for _, one := range c.PreTokenizers {
			if err := t.readSplit(one); err != nil {
				return err
			}
		}
		return nil
	case "Split":
		var c struct {
			Type     string
			Pattern  textPattern
			Behavior behaviour
			Invert   bool
		}
		if err := strict(data, &c); err != nil {
			return wrong(err)
		}
		if !slices.Contains([]behaviour{isolated, removed, merged, mergedNext, contiguous}, c.Behavior) {
			return unsupported("behavior of a Split", string(c.Behavior))
		}
		find, err := c.Pattern.finder()
		if err != nil {
			return err
		}
		t.split = append(t.split, splitAt(find, c.Behavior, c.Invert))
		return nil
	case "Digits":
		var c struct {
			Type             string
			IndividualDigits bool `json:"individual_digits"`
		}
		if err := strict(data, &c); err != nil {
			return wrong(err)
		}
		how := contiguous
		if c.IndividualDigits {
			how = isolated
		}
		numbers, err := compilePattern(`\p{N}`)
		if err != nil {
			return wrong(err)
		}
		t.split = append(t.split, splitAt(numbers.find, how, false))
		return nil
	case "Punctuation":
		c := struct {
			Type     string
			Behavior behaviour
		}{Behavior: isolated}
		if err := strict(data, &c); err != nil {
			return wrong(err)
		}
		t.split = append(t.split, splitAt(oneOf(isPunctuation), c.Behavior, false))
		return nil
	case "WhitespaceSplit":
		t.split = append(t.split, splitAt(oneOf(unicode.IsSpace), removed, false))
		return nil
	case "Metaspace":
		c := struct {
			Type           string
			Replacement    string
			PrependScheme  string `json:"prepend_scheme"`
			AddPrefixSpace *bool  `json:"add_prefix_space"` // before prepend_scheme came
			Split          bool
		}{PrependScheme: "always", Split: true}
		if err := strict(data, &c); err != nil {
			return wrong(err)
		}
		if c.AddPrefixSpace != nil && !*c.AddPrefixSpace {
			c.PrependScheme = "never"
		}
		if !slices.Contains([]string{"always", "first", "never"}, c.PrependScheme) {
			return unsupported("prepend_scheme of Metaspace", c.PrependScheme)
		}
		t.split = append(t.split, metaspace(c.Replacement, c.PrependScheme, c.Split))
		return nil
	case "ByteLevel":
		var c byteLevel
		if err := strict(data, &c); err != nil {
			return wrong(err)
		}
		if c.AddPrefixSpace {
			t.split = append(t.split, prefixSpace)
		}
		if c.UseRegex == nil || *c.UseRegex {
			p, err := compilePattern(gpt2)
			if err != nil {
				return wrong(err)
			}
			t.split = append(t.split, splitAt(p.find, isolated, false))
		}
		t.bytes = true
		return nil
	}
	return unsupported("pre_tokenizer", name)
}

// readModel reads the vocabulary and the model that uses it. It returns the
// tokens by id, as the file spells them.
func (t *Tokenizer) readModel(data json.RawMessage) ([]string, error) {
	name, err := kind(data)
	if err != nil {
		return nil, err
	}
	if name == "" && bytes.Contains(data, []byte(`"merges"`)) {
		name = "BPE" // as the library does for files from before the field
	}
	switch name {
	case "BPE":
		return t.readBPE(data)
	case "Unigram":
		return t.readUnigram(data)
	}
	return nil, unsupported("model", name)
}

func (t *Tokenizer) readBPE(data json.RawMessage) ([]string, error) {
	var c struct {
		Type         string         `json:"type"`
		Dropout      *float64       `json:"dropout"`
		UnkToken     *string        `json:"unk_token"`
		Prefix       *string        `json:"continuing_subword_prefix"`
		Suffix       *string        `json:"end_of_word_suffix"`
		FuseUnk      bool           `json:"fuse_unk"`
		ByteFallback bool           `json:"byte_fallback"`
		IgnoreMerges bool           `json:"ignore_merges"`
		Vocab        map[string]int `json:"vocab"`
		Merges       []mergeRule    `json:"merges"`
	}
	if err := strict(data, &c); err != nil {
		return nil, fmt.Errorf("tokenizer: model BPE: %w", err)
	}
	switch {
	case c.Dropout != nil && *c.Dropout != 0:
		return nil, unsupported("BPE with", "dropout")
	case c.Prefix != nil && *c.Prefix != "":
		return nil, unsupported("BPE with", "continuing_subword_prefix")
	case c.Suffix != nil && *c.Suffix != "":
		return nil, unsupported("BPE with", "end_of_word_suffix")
	}
	tokens, err := byID(c.Vocab)
	if err != nil {
		return nil, err
	}
	merges := make([][2]string, len(c.Merges))
	for i, m := range c.Merges {
		merges[i] = m
	}
	m, err := t.newBPE(c.Vocab, merges)
	if err != nil {
		return nil, err
	}
	m.fuseUnknown, m.ignoreMerges = c.FuseUnk, c.IgnoreMerges
	if c.UnkToken != nil {
		id, ok := c.Vocab[*c.UnkToken]
		if !ok {
			return nil, fmt.Errorf("tokenizer: unk_token %q is not in the vocabulary", *c.UnkToken)
		}
		m.unknown = id
	}
	if c.ByteFallback {
		m.byteTokens = byteTokens(c.Vocab)
	}
	t.model = m
	return tokens, nil
}

// newBPE makes the model of a vocabulary that is spelled as in the file.
func (t *Tokenizer) newBPE(vocab map[string]int, merges [][2]string) (*bpe, error) {
	m := &bpe{unknown: -1, byteLevel: t.bytes, ids: vocab}
	var err error
	if m.merges, err = mergesOf(vocab, merges); err != nil {
		return nil, err
	}
	if !t.bytes {
		return m, nil
	}
	m.ids = make(map[string]int, len(vocab))
	for token, id := range vocab {
		if text, ok := unspell(token); ok {
			m.ids[text] = id
		}
	}
	for b := range 256 {
		m.single[b] = -1
		if id, ok := vocab[string(byteAlphabet[b])]; ok {
			m.single[b] = id
		}
	}
	return m, nil
}

// mergeRule is one merge: ["a","b"], or "a b" in older files.
type mergeRule [2]string

func (m *mergeRule) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		a, b, ok := strings.Cut(s, " ")
		if !ok || strings.Contains(b, " ") {
			return fmt.Errorf("merge %q is not two tokens", s)
		}
		*m = mergeRule{a, b}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) != 2 {
		return fmt.Errorf("a merge of %d tokens", len(list))
	}
	*m = mergeRule{list[0], list[1]}
	return nil
}

func (t *Tokenizer) readUnigram(data json.RawMessage) ([]string, error) {
	var c struct {
		Type         string   `json:"type"`
		UnkID        *int     `json:"unk_id"`
		Vocab        []scored `json:"vocab"`
		ByteFallback bool     `json:"byte_fallback"`
	}
	if err := strict(data, &c); err != nil {
		return nil, fmt.Errorf("tokenizer: model Unigram: %w", err)
	}
	if c.UnkID == nil || *c.UnkID < 0 || *c.UnkID >= len(c.Vocab) {
		return nil, errors.New("tokenizer: model Unigram: unk_id names no token")
	}
	tokens, scores := make([]string, len(c.Vocab)), make([]float64, len(c.Vocab))
	vocab := make(map[string]int, len(tokens))
	for i, s := range c.Vocab {
		tokens[i], scores[i] = s.token, s.score
		vocab[s.token] = i
	}
	var fallback *[256]int
	if c.ByteFallback {
		if fallback = byteTokens(vocab); slices.Contains(fallback[:], -1) {
			return nil, errors.New("tokenizer: model Unigram: byte_fallback without all of <0x00> to <0xFF>")
		}
	}
	t.model = newUnigram(tokens, scores, *c.UnkID, fallback)
	return tokens, nil
}

// scored is a token with its log probability: ["▁the", -3.2].
type scored struct {
	token string
	score float64
}

func (s *scored) UnmarshalJSON(data []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if len(raw) != 2 {
		return fmt.Errorf("a vocabulary entry of %d values", len(raw))
	}
	var score json.Number
	if err := errors.Join(json.Unmarshal(raw[0], &s.token), json.Unmarshal(raw[1], &score)); err != nil {
		return err
	}
	var err error
	s.score, err = serdeFloat(score.String())
	return err
}

// serdeFloat reads a number as the reference library does: serde_json without
// float_roundtrip rounds the digits to float64 and then the quotient or product with
// a power of ten (serde_json 1.0, de.rs, f64_from_parts), which may be off by one
// unit. Between cuts of a word with equal sums, as of a run of one letter, that unit
// decides.
func serdeFloat(text string) (float64, error) {
	exact, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, err
	}
	digits, exp, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(text, "-")), "e")
	power, err := strconv.Atoi(cmp.Or(exp, "0"))
	whole, fraction, _ := strings.Cut(digits, ".")
	significand, err2 := strconv.ParseUint(whole+fraction, 10, 64)
	if power -= len(fraction); err != nil || err2 != nil || power < -31 || power > 31 {
		return exact, nil // no score of a vocabulary is so long, small or large
	}
	f := float64(significand)
	if power < 0 {
		f /= math.Pow10(-power)
	} else {
		f *= math.Pow10(power)
	}
	return math.Copysign(f, exact), nil
}

// byteTokens are the ids of "<0x00>" to "<0xFF>", -1 for those that are missing.
func byteTokens(vocab map[string]int) *[256]int {
	var ids [256]int
	for b := range 256 {
		ids[b] = -1
		if id, ok := vocab[fmt.Sprintf("<0x%02X>", b)]; ok {
			ids[b] = id
		}
	}
	return &ids
}

// maxID bounds token ids, so that a hostile file cannot ask for a table of any
// size: the largest published vocabulary has 262144 entries.
const maxID = 1 << 22

// byID orders a vocabulary by id. Ids that no token has are empty.
func byID(vocab map[string]int) ([]string, error) {
	largest := -1
	for token, id := range vocab {
		if id < 0 || id > maxID {
			return nil, fmt.Errorf("tokenizer: id %d of %q is out of range", id, token)
		}
		largest = max(largest, id)
	}
	tokens := make([]string, largest+1)
	for token, id := range vocab {
		if tokens[id] != "" {
			return nil, fmt.Errorf("tokenizer: id %d is that of %q and of %q", id, tokens[id], token)
		}
		tokens[id] = token
	}
	return tokens, nil
}

// setVocabulary fills the tables that decoding uses.
func (t *Tokenizer) setVocabulary(tokens []string, added []addedToken) error {
	t.tokens = tokens
	t.ids = make(map[string]int, len(tokens))
	known := make([]bool, len(tokens))
	for id, token := range tokens {
		if token != "" {
			t.ids[token], known[id] = id, true
		}
	}
	for _, a := range added {
		if a.ID < 0 || a.ID > maxID {
			return fmt.Errorf("tokenizer: id %d of added token %q is out of range", a.ID, a.Content)
		}
		for len(t.tokens) <= a.ID {
			t.tokens, known = append(t.tokens, ""), append(known, false)
		}
		t.tokens[a.ID], known[a.ID] = a.Content, true
		t.ids[a.Content] = a.ID
	}
	t.pieces = make([]piece, len(t.tokens))
	for id, token := range t.tokens {
		t.pieces[id] = piece{text: token, known: known[id]}
	}
	for _, a := range added {
		t.pieces[a.ID].special = a.Special
	}
	t.added = newAddedTokens(added, t.normalize)
	return nil
}

// readDecoder reads how tokens become text and prepares the piece of each.
func (t *Tokenizer) readDecoder(data json.RawMessage) error {
	if absent(data) {
		return unsupported("decoder", "null")
	}
	steps, err := decoderSteps(data)
	if err != nil {
		return err
	}
	var change []normalizer
	fused := false
	for _, step := range steps {
		name, err := kind(step)
		if err != nil {
			return err
		}
		if t.decoder.bytesAlways || t.decoder.stripFirst > 0 {
			return unsupported("decoder with a step behind its end", name)
		}
		switch name {
		case "ByteLevel":
			t.decoder.bytesAlways = true
		case "ByteFallback":
			t.decoder.perByte = true
		case "Fuse":
			fused = true
		case "Replace":
			r, err := readReplace(step)
			if err != nil {
				return err
			}
			change = append(change, r)
		case "Metaspace":
			c := struct {
				Type           string
				Replacement    string
				PrependScheme  string `json:"prepend_scheme"`
				AddPrefixSpace *bool  `json:"add_prefix_space"`
				Split          bool
			}{PrependScheme: "always"}
			if err := strict(step, &c); err != nil {
				return fmt.Errorf("tokenizer: decoder Metaspace: %w", err)
			}
			change = append(change, func(s string) string { return strings.ReplaceAll(s, c.Replacement, " ") })
			if c.PrependScheme != "never" && (c.AddPrefixSpace == nil || *c.AddPrefixSpace) {
				t.decoder.strip, t.decoder.stripFirst = " ", 1
			}
		case "Strip":
			var c struct {
				Type, Content string
				Start, Stop   int
			}
			if err := strict(step, &c); err != nil {
				return fmt.Errorf("tokenizer: decoder Strip: %w", err)
			}
			if !fused || c.Stop != 0 || c.Start < 0 {
				return unsupported("decoder step", "Strip of single tokens or of the end")
			}
			t.decoder.strip, t.decoder.stripFirst = c.Content, c.Start
		default:
			return unsupported("decoder", name)
		}
	}
	t.setPieces(change)
	return nil
}

// setPieces works out what each token adds to a text.
func (t *Tokenizer) setPieces(change []normalizer) {
	for id := range t.pieces {
		p := &t.pieces[id]
		var b byte
		switch {
		case t.decoder.bytesAlways:
			p.text, _ = unspell(p.text)
		case t.decoder.perByte && len(p.text) == len("<0x00>") && scanByte(p.text, &b):
			p.text, p.byte = string([]byte{b}), true
		default:
			for _, c := range change {
				p.text = c(p.text)
			}
		}
	}
}

// scanByte reads a token such as "<0xC3>".
func scanByte(token string, b *byte) bool {
	n, err := fmt.Sscanf(token, "<0x%02X>", b)
	return n == 1 && err == nil
}

// decoderSteps takes a Sequence apart.
func decoderSteps(data json.RawMessage) ([]json.RawMessage, error) {
	name, err := kind(data)
	if err != nil || name != "Sequence" {
		return []json.RawMessage{data}, err
	}
	var c struct {
		Type     string
		Decoders []json.RawMessage
	}
	if err := strict(data, &c); err != nil {
		return nil, fmt.Errorf("tokenizer: decoder Sequence: %w", err)
	}
	return c.Decoders, nil
}

// readPost reads which tokens a text gets around it.
func (t *Tokenizer) readPost(data json.RawMessage) error {
	if absent(data) {
		return nil
	}
	name, err := kind(data)
	if err != nil {
		return err
	}
	switch name {
	case "ByteLevel":
		return nil // about positions only
	case "Sequence":
		var c struct {
			Type       string
			Processors []json.RawMessage
		}
		if err := strict(data, &c); err != nil {
			return fmt.Errorf("tokenizer: post_processor Sequence: %w", err)
		}
		for _, one := range c.Processors {
			if err := t.readPost(one); err != nil {
				return err
			}
		}
		return nil
	case "TemplateProcessing":
		return t.readTemplate(data)
	}
	return unsupported("post_processor", name)
}

// templatePart is an element of a TemplateProcessing: the text, or a token.
type templatePart struct {
	Sequence *struct {
		ID     string `json:"id"`
		TypeID int    `json:"type_id"`
	}
	SpecialToken *struct {
		ID     string `json:"id"`
		TypeID int    `json:"type_id"`
	}
}

func (t *Tokenizer) readTemplate(data json.RawMessage) error {
	var c struct {
		Type          string
		Single        []templatePart
		Pair          json.RawMessage // of two texts, which no language model takes
		SpecialTokens map[string]struct {
			ID     string   `json:"id"`
			IDs    []int    `json:"ids"`
			Tokens []string `json:"tokens"`
		} `json:"special_tokens"`
	}
	if err := strict(data, &c); err != nil {
		return fmt.Errorf("tokenizer: post_processor TemplateProcessing: %w", err)
	}
	into, texts := &t.before, 0
	for _, part := range c.Single {
		switch {
		case part.Sequence != nil:
			into = &t.after
			texts++
		case part.SpecialToken != nil:
			s, ok := c.SpecialTokens[part.SpecialToken.ID]
			if !ok {
				return fmt.Errorf("tokenizer: post_processor names the token %q and does not define it", part.SpecialToken.ID)
			}
			*into = append(*into, s.IDs...)
		}
	}
	if texts != 1 {
		return fmt.Errorf("tokenizer: post_processor has the text %d times", texts)
	}
	return nil
}
