package command

import (
	"regexp"
	"slices"
	"strings"
)

// mask stands for a secret.
const mask = "***"

// Words of a flag's or variable's name that make its value a secret. "token" is
// one only at the end: HF_TOKEN, --api-token, but not --token-map.
var (
	secretWord = wordSet("password passwd passphrase secret secrets credential credentials apikey")
	nameWord   = regexp.MustCompile(`[A-Za-z0-9]+`)
)

// SecretName says whether a flag or variable of this name holds a secret.
func SecretName(name string) bool {
	words := nameWord.FindAllString(strings.ToLower(name), -1)
	for i, w := range words {
		if secretWord[w] {
			return true
		}
		if w == "key" && i > 0 && (words[i-1] == "api" || words[i-1] == "access" || words[i-1] == "private") {
			return true
		}
	}
	return len(words) > 0 && words[len(words)-1] == "token"
}

// minSecret is the shortest value that is also masked where it turns up again;
// shorter ones would hit innocent text.
const minSecret = 6

// Redacted returns a copy with the values of secrets masked, also where they
// turn up again in the text around the command.
func (c Command) Redacted() Command {
	var secrets []string
	c.Env = slices.Clone(c.Env)
	for i := range c.Env {
		if v := &c.Env[i]; SecretName(v.Name) && !v.Inherited && v.Value.Text != "" {
			secrets = append(secrets, v.Value.Text)
			v.Value = Word{Text: mask}
		}
	}
	c.Args = slices.Clone(c.Args)
	secrets = append(secrets, redactFlags(c.Args)...)
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < minSecret })
	replace := func(text string) string {
		for _, s := range secrets {
			text = strings.ReplaceAll(text, s, mask)
		}
		return assignedSecret.ReplaceAllStringFunc(text, maskAssigned)
	}
	c.Prefix, c.Args = maskWords(c.Prefix, replace), maskWords(c.Args, replace)
	c.tail = replace(c.tail)
	if c.nest != nil {
		n := *c.nest
		n.before, n.after, n.tail = replace(n.before), replace(n.after), replace(n.tail)
		n.shell, n.rest = maskWords(n.shell, replace), maskWords(n.rest, replace)
		c.nest = &n
	}
	c.form = c.form.redacted(replace)
	return c
}

// redactFlags masks the values of secret flags and returns what it masked.
func redactFlags(words []Word) []string {
	var secrets []string
	secret := false
	for i, w := range words {
		switch {
		case strings.HasPrefix(w.Text, "-"):
			name, value, glued := strings.Cut(w.Text, "=")
			secret = SecretName(name) && !glued
			if SecretName(name) && glued {
				secrets = append(secrets, value)
				words[i] = Word{Text: name + "=" + mask}
			}
		case secret:
			secrets = append(secrets, w.Text)
			words[i] = Word{Text: mask}
		}
	}
	return secrets
}

// assignedSecret finds NAME=value and "--name value" in text around a command.
var assignedSecret = regexp.MustCompile(`(--?[A-Za-z][A-Za-z0-9_-]*[ =]|[A-Za-z_][A-Za-z0-9_]*=)("[^"]*"|'[^']*'|[^\s"';]+)`)

func maskAssigned(text string) string {
	at := strings.IndexAny(text, " =")
	if !SecretName(text[:at]) || strings.HasPrefix(strings.TrimLeft(text[at+1:], `"`), "$") {
		return text
	}
	return text[:at+1] + mask
}

func maskWords(words []Word, replace func(string) string) []Word {
	out := make([]Word, len(words))
	for i, w := range words {
		out[i] = Word{Text: replace(w.Text), Raw: replace(w.Raw)}
	}
	return out
}

func masked(lines []string, replace func(string) string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = replace(l)
	}
	return out
}
