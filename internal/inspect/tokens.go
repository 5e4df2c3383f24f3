package inspect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
	"shakedown/internal/hfconfig"
)

// tokenizer compares the tokenizer and the chat template with the configuration.
func (x *inspector) tokenizer() {
	t := x.c.Tokenizer()
	for _, p := range t.Problems {
		x.add("CKPT-TOK-005", hit{
			subject:  finding.Subject{File: p.File},
			title:    fmt.Sprintf("%s can't be read: %s", p.File, p.Got),
			evidence: []finding.Evidence{says(p.File, "", p.Got)},
		})
	}
	if t.File == "" {
		x.add("CKPT-TOK-004", hit{subject: finding.Subject{File: "tokenizer.json"}})
	}
	vocab, from := x.vocabulary()
	if t.Read && vocab > 0 && t.MaxID >= vocab {
		x.add("CKPT-TOK-001", hit{
			subject: finding.Subject{File: t.File, Field: "vocab_size"}, count: t.MaxID - vocab + 1,
			title:    fmt.Sprintf("Token ids go up to %d, and the model has %d rows", t.MaxID, vocab),
			evidence: []finding.Evidence{says(t.File, "vocab", fmt.Sprintf("largest id %d", t.MaxID)), from},
		})
	}
	if t.Read && vocab >= leastVocabulary && t.Tokens < vocab/2 {
		x.add("CKPT-TOK-007", hit{
			subject:  finding.Subject{File: t.File, Field: "vocab"},
			title:    fmt.Sprintf("The tokenizer has %d tokens, and the model %d rows", t.Tokens, vocab),
			evidence: []finding.Evidence{says(t.File, "vocab", fmt.Sprintf("%d tokens", t.Tokens)), from},
		})
	}
	for _, id := range t.Twice[:min(len(t.Twice), 1)] {
		x.add("CKPT-TOK-006", hit{subject: finding.Subject{File: t.File, Field: "added_tokens"}, count: len(t.Twice), evidence: []finding.Evidence{says(t.File, "added_tokens", fmt.Sprintf("id %d stands twice", id))}})
	}
	x.specials(t, vocab)
	x.endings(t)
	x.template(t)
}

// leastVocabulary is the size from which a vocabulary is one of a real model:
// tiny test models have what they need.
const leastVocabulary = 1000

// vocabulary is the number of rows of the embedding, from the tensor if it is
// there, and what says so.
func (x *inspector) vocabulary() (int, finding.Evidence) {
	names := []string{x.l.prefix + "embed_tokens", "token_embd"}
	for _, name := range names {
		if m := x.c.Module(name); m != nil && m.Weight != nil && len(m.Weight.Shape) == 2 {
			return m.Weight.Shape[0], where(m.Weight, fmt.Sprintf("%s %v", m.Weight.DType, m.Weight.Shape))
		}
	}
	return x.l.vocab, says(configFile, "vocab_size", fmt.Sprint(x.l.vocab))
}

// special is a field that holds token ids.
type special struct {
	file, field string
	ids         []int
}

func (x *inspector) specialIDs(t *checkpoint.Tokenizer) []special {
	var out []special
	for _, f := range []struct {
		file string
		o    hfconfig.Object
	}{{configFile, x.c.Config.Config}, {configFile, x.l.config}, {"generation_config.json", x.c.Config.Generation}, {t.File, t.Config}} {
		for _, field := range []string{"eos_token_id", "bos_token_id", "pad_token_id", "decoder_start_token_id"} {
			if v := ids(f.o, field); len(v) > 0 && !slices.ContainsFunc(out, func(s special) bool { return s.file == f.file && s.field == field }) {
				out = append(out, special{f.file, field, v})
			}
		}
	}
	return out
}

// specials checks that special ids exist.
func (x *inspector) specials(t *checkpoint.Tokenizer, vocab int) {
	for _, s := range x.specialIDs(t) {
		for _, id := range s.ids {
			switch {
			case id == -1 && s.field == "pad_token_id": // "none" of older configurations
			case vocab > 0 && (id < 0 || id >= vocab):
				x.add("CKPT-TOK-002", hit{
					subject:  finding.Subject{File: s.file, Field: s.field},
					title:    fmt.Sprintf("%s %d of %s is outside the vocabulary of %d", s.field, id, s.file, vocab),
					evidence: []finding.Evidence{says(s.file, s.field, fmt.Sprint(id))},
				})
			case t.Read && !t.Has(id) && s.field == "eos_token_id":
				x.add("CKPT-TOK-002", hit{
					subject:  finding.Subject{File: s.file, Field: s.field},
					title:    fmt.Sprintf("%s %d of %s is no token of %s", s.field, id, s.file, t.File),
					evidence: []finding.Evidence{says(s.file, s.field, fmt.Sprint(id)), says(t.File, "vocab", "no token has this id")},
				})
			}
		}
	}
}

// endings compares the ids that end a text.
func (x *inspector) endings(t *checkpoint.Tokenizer) {
	model := ids(x.c.Config.Config, "eos_token_id")
	if len(model) == 0 {
		model = ids(x.l.config, "eos_token_id")
	}
	generation := ids(x.c.Config.Generation, "eos_token_id")
	disjoint := func(a, b []int) bool {
		return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(id int) bool { return slices.Contains(b, id) })
	}
	if disjoint(model, generation) {
		x.add("CKPT-TOK-003", hit{
			subject:  finding.Subject{File: "generation_config.json", Field: "eos_token_id"},
			title:    fmt.Sprintf("eos_token_id is %v in config.json and %v in generation_config.json", model, generation),
			evidence: []finding.Evidence{says(configFile, "eos_token_id", fmt.Sprint(model)), says("generation_config.json", "eos_token_id", fmt.Sprint(generation))},
		})
	}
	name := tokenText(t.Config, "eos_token")
	id, ok := t.Added[name]
	all := append(slices.Clone(model), generation...)
	if ok && len(all) > 0 && !slices.Contains(all, id) {
		x.add("CKPT-TOK-003", hit{
			subject:  finding.Subject{File: "tokenizer_config.json", Field: "eos_token"},
			title:    fmt.Sprintf("The tokenizer ends a text with %s (%d), config.json with %v", name, id, all),
			evidence: []finding.Evidence{says("tokenizer_config.json", "eos_token", name), says(configFile, "eos_token_id", fmt.Sprint(all))},
		})
	}
	if ok || name == "" || !t.Read || len(t.Added) == 0 {
		return
	}
	x.add("CKPT-TOK-003", hit{
		subject: finding.Subject{File: "tokenizer_config.json", Field: "eos_token"}, sure: finding.Likely,
		title:    fmt.Sprintf("eos_token %q of tokenizer_config.json is no control token of %s", name, t.File),
		evidence: []finding.Evidence{says("tokenizer_config.json", "eos_token", name)},
	})
}

// tokenText is a token given as text or as an object with content.
func tokenText(o hfconfig.Object, field string) string {
	if s, ok := o.Str(field); ok {
		return s
	}
	return o.Obj(field).Text("content")
}

// control finds what looks like a control token in a template.
var control = regexp.MustCompile(`<\|[A-Za-z0-9_ ]{1,40}\|>|\[gMASK\]|<sop>|<｜[^<>|｜]{1,40}｜>`)

// maxTemplateTokens bounds the tokens that are looked at.
const maxTemplateTokens = 1000

// template checks that the control tokens of the chat template exist.
func (x *inspector) template(t *checkpoint.Tokenizer) {
	if t.Template == "" {
		if t.File != "" {
			x.add("CKPT-TMPL-002", hit{subject: finding.Subject{File: "chat_template.jinja"}})
		}
		return
	}
	if text := unclosed(t.Template); text != "" {
		x.add("CKPT-TMPL-003", hit{
			subject:  finding.Subject{File: t.TemplateFile, Field: "chat_template"},
			title:    "The chat template is not closed: " + text,
			evidence: []finding.Evidence{says(t.TemplateFile, "chat_template", text)},
		})
	}
	if !t.Read || len(t.Added) == 0 {
		return
	}
	var unknown []string
	for _, tok := range control.FindAllString(t.Template, maxTemplateTokens) {
		if _, ok := t.Added[tok]; !ok && !slices.Contains(unknown, tok) {
			unknown = append(unknown, tok)
		}
	}
	if len(unknown) > 0 {
		x.add("CKPT-TMPL-001", hit{
			subject: finding.Subject{File: t.TemplateFile, Field: "chat_template"}, count: len(unknown),
			title:    fmt.Sprintf("The chat template writes %s, which %s no control token of %s", strings.Join(unknown[:min(len(unknown), 4)], " "), isAre(len(unknown)), t.File),
			evidence: []finding.Evidence{says(t.TemplateFile, "chat_template", strings.Join(unknown[:min(len(unknown), maxEvidence)], " "))},
		})
	}
}

// tag is the first word of a Jinja statement.
var tag = regexp.MustCompile(`^[-+]?\s*([a-z]+)`)

// unclosed says what is left open in a Jinja template: a bracket or a block; empty
// when nothing is. Strings inside of expressions may hold brackets, so that only
// the opening kind is looked for outside of them.
func unclosed(text string) string {
	shut := map[string]string{"{{": "}}", "{%": "%}", "{#": "#}"}
	var open []string
	for {
		i := strings.IndexByte(text, '{')
		if i < 0 || i+1 >= len(text) {
			break
		}
		kind := text[i : i+2]
		text = text[i+1:]
		if shut[kind] == "" {
			continue
		}
		body, rest, ok := strings.Cut(text[1:], shut[kind])
		if !ok {
			return fmt.Sprintf("%q without %q", kind, shut[kind])
		}
		text = rest
		word := tag.FindStringSubmatch(body)
		if kind != "{%" || word == nil {
			continue
		}
		switch w := word[1]; w {
		case "if", "for", "macro", "filter", "call":
			open = append(open, w)
		case "raw":
			_, after, ok := strings.Cut(text, "endraw")
			if !ok {
				return "raw without endraw"
			}
			_, text, _ = strings.Cut(after, "%}")
		case "endif", "endfor", "endmacro", "endfilter", "endcall":
			if len(open) == 0 || open[len(open)-1] != w[3:] {
				return w + " without " + w[3:]
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return open[len(open)-1] + " without end" + open[len(open)-1]
	}
	return ""
}
