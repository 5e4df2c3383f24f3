package redact

import (
	"strings"
)

// kind is what a field's name says of its value.
type kind int

const (
	other    kind = iota
	secret        // a key or token
	password      // a secret that may be any word
	prompt        // text of a user or a model
	ids           // the same as token ids
	address       // a host name, with or without port
	user          // an account name
)

// fieldKinds are names of fields whose values are private without being secrets,
// in lower case with underscores.
var fieldKinds = func() map[string]kind {
	m := map[string]kind{}
	for k, words := range map[kind]string{
		prompt: `prompt prompts text texts content messages input inputs input_text output output_text generated_text
			reasoning_content system_prompt user_prompt negative_prompt documents`,
		ids: `input_ids prompt_token_ids output_ids output_token_ids token_ids origin_input_ids prompt_ids input_token_ids
			generated_token_ids new_token_ids decoder_prompt_token_ids all_token_ids`,
		address: `host hostname master_addr master_address dist_init_addr node_name nodename rdzv_endpoint rdzv_addr data_parallel_address
			head_addr head_node bootstrap_host nccl_host_id`,
		user: `user username logname sudo_user`,
	} {
		for w := range wordSet(words) {
			m[w] = k
		}
	}
	return m
}()

// kindOf classifies a field by its name.
func kindOf(name string) kind {
	if k, ok := fieldKinds[strings.ReplaceAll(strings.ToLower(name), "-", "_")]; ok {
		return k
	}
	return secretKind(name)
}

// kindOf is the kind that this Redactor is about.
func (r *Redactor) kindOf(name string) kind {
	k := kindOf(name)
	if r.secretsOnly && k != secret && k != password {
		return other
	}
	return k
}

// nothing are values that hold no secret, in lower case.
var nothing = wordSet("none null nil true false unset empty undefined required optional str")

// harmless says that a secret's value is none: absent, a placeholder, or a
// reference to a variable, also where a shell's quotes stand in front of it.
func harmless(v string) bool {
	v = strings.TrimLeft(v, `"'`)
	return nothing[strings.ToLower(v)] || strings.Trim(v, "*") == "" || strings.HasPrefix(v, "$") || isPlaceholder(v)
}

// fields replaces the values of named fields. open is a field that an earlier
// piece of the same line left open; the one that stays open at the end is
// returned, without its placeholder.
func (r *Redactor) fields(s string, open *span) (string, *span) {
	start := 0
	if open != nil {
		n, closed := open.scan(s)
		if !closed {
			return "", open
		}
		s, start = open.placeholder()+s[n:], len(open.placeholder())
	}
	var b strings.Builder
	done := 0
	keys := "" // the flag whose values go on at i
	for i := start; i < len(s); {
		at, name, sep := anotherKey(s, i, keys), keys, byte(' ')
		keys = ""
		if at < 0 {
			at, name, sep = fieldAt(s, i)
		}
		if at < 0 {
			break
		}
		i = at
		f := field{r: r, s: s, at: at, name: name, sep: sep}
		k := r.kindOf(name)
		if k == other {
			continue
		}
		end, text, p := f.value(k)
		if p != nil {
			b.WriteString(s[done:end])
			return b.String(), p
		}
		if end > at {
			b.WriteString(s[done:f.at])
			b.WriteString(text)
			done, i = end, end
			if sep == ' ' && severalKeys[strings.ToLower(name)] {
				keys = name
			}
		}
	}
	if done == 0 {
		return s, nil
	}
	b.WriteString(s[done:])
	return b.String(), nil
}

// severalKeys are flags that take several secrets (vLLM).
var severalKeys = wordSet("api-key api_key")

// anotherKey is where a further value of the flag begins, behind a value that
// ends at i; -1 when none follows. A plain lower-case word is prose.
func anotherKey(s string, i int, flag string) int {
	if flag == "" {
		return -1
	}
	behind := skipQuote(s, i)
	at := skipSeparators(s, behind)
	word := skipQuote(s, at)
	if at == behind || word == len(s) || s[word] == '-' {
		return -1
	}
	if word > at {
		return at
	}
	bare := s[at:]
	if n := strings.IndexAny(bare, valueEnd); n >= 0 {
		bare = bare[:n]
	}
	end := at + len(bare)
	if strings.Trim(bare, letters) == "" || end < len(s) && s[end] == '>' { // "2>" redirects
		return -1
	}
	return at
}

// fieldAt finds the next name of a field from i on: before "=" or ":", or a
// flag before white space. at is where its value begins, -1 at the end.
func fieldAt(s string, i int) (at int, name string, sep byte) {
	for ; i < len(s); i++ {
		switch c := s[i]; c {
		case '=', ':':
			name = nameBefore(s[:i])
			if name == "" {
				continue
			}
			return skipSpaces(s, i+1), name, c
		case '-':
			n := flagLen(s, i)
			if n == 0 {
				continue
			}
			end := skipQuote(s, i+n)
			if end < len(s) && strings.IndexByte(" \t,", s[end]) >= 0 {
				return skipSeparators(s, end), s[i+2 : i+n], ' '
			}
			i += n - 1
		}
	}
	return -1, "", 0
}

// nameBefore is the identifier that ends s, behind closing quotes.
func nameBefore(s string) string {
	end := len(strings.TrimRight(s, "\\\"' "))
	begin := end
	for begin > 0 && isNameByte(s[begin-1]) {
		begin--
	}
	return strings.TrimLeft(s[begin:end], "-")
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// flagLen is the length of a long flag that begins at i, with its dashes.
func flagLen(s string, i int) int {
	if !strings.HasPrefix(s[i:], "--") || i > 0 && isNameByte(s[i-1]) {
		return 0
	}
	n := 2
	for i+n < len(s) && isNameByte(s[i+n]) {
		n++
	}
	if n == 2 {
		return 0
	}
	return n
}

func skipSpaces(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// skipQuote passes one quote with its escapes.
func skipQuote(s string, i int) int {
	j := i
	for j < len(s) && s[j] == '\\' {
		j++
	}
	if j < len(s) && (s[j] == '"' || s[j] == '\'') {
		return j + 1
	}
	return i
}

func skipSeparators(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t,", s[i]) >= 0 {
		i++
	}
	return i
}

// endsInName says that the value of a field may follow s.
func endsInName(s string) bool {
	s = strings.TrimRight(s, " ,\\\"'")
	word := s[strings.LastIndexAny(s, " \t")+1:]
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "=") || strings.HasPrefix(strings.TrimLeft(word, "\\\"'"), "-") || strings.EqualFold(word, "bearer")
}

// field is a named value in a line.
type field struct {
	r    *Redactor
	s    string
	at   int // where the value begins
	name string
	sep  byte // '=', ':', or ' ' behind a flag
}

// value reads the value and returns where it ends and what replaces s[f.at:end];
// end is f.at when the value stays. A value that is still open at the end of s is
// returned as a span, and end is where its content begins.
func (f *field) value(k kind) (end int, text string, open *span) {
	content, p := f.opening(k)
	if p == nil {
		end, text = f.bare(k)
		return end, text, nil
	}
	n, closed := p.scan(f.s[content:])
	inner := f.s[content : content+n]
	if inner == "" || isPlaceholder(inner) || f.keep(k, inner) {
		return f.at, "", nil
	}
	switch {
	case k == address || k == user:
		f.at = content
		return content + n, f.named(k, inner), nil
	case !closed:
		return content, "", p
	}
	f.at = content
	return content + n, p.placeholder(), nil
}

// keep says that quoted content of this kind is not private.
func (f *field) keep(k kind, inner string) bool {
	switch k {
	case secret, password:
		return harmless(inner) || f.name == "token" && !looksRandom(inner)
	}
	return false
}

// named replaces a host or account name.
func (f *field) named(k kind, name string) string {
	if k == user {
		return f.r.user(name)
	}
	return f.r.endpoint(name)
}

// opening recognises a quoted text or a list at the start of the value and
// returns where its content begins; nil for anything else.
func (f *field) opening(k kind) (content int, p *span) {
	s, i := f.s, f.at
	if i+1 < len(s) && strings.IndexByte("bfru", s[i]) >= 0 && (s[i+1] == '\'' || s[i+1] == '"') {
		i++ // a Python string prefix
	}
	if j := skipQuote(s, i); j > i && k != ids {
		return j, &span{kind: k, quote: s[j-1], escapes: j - 1 - i}
	}
	if k == ids || k == prompt {
		for _, call := range []string{"tensor(", "array("} {
			if strings.HasPrefix(s[i:], call) {
				i += len(call)
			}
		}
	}
	if i >= len(s) || s[i] != '[' || k == address || k == user {
		return 0, nil
	}
	switch first := firstOf(s[i+1:]); {
	case first == 0, first == '<':
		return 0, nil
	case first >= '0' && first <= '9':
		if k == prompt {
			k = ids // a prompt may be given as ids
		}
	case k == ids || k == prompt && first != '{' && first != '\'' && first != '"' && first != '\\':
		return 0, nil
	}
	return i + 1, &span{kind: k, list: true, depth: 1}
}

// firstOf is the first character of a list's content, 0 for an empty list.
func firstOf(s string) byte {
	s = strings.TrimLeft(s, " [")
	if s == "" || s[0] == ']' {
		return 0
	}
	return s[0]
}

// valueEnd are the characters that end an unquoted value.
const valueEnd = " \t,;&'\"()[]{}<>|\\"

// bare reads an unquoted value.
func (f *field) bare(k kind) (end int, text string) {
	v := f.s[f.at:]
	if n := strings.IndexAny(v, valueEnd); n >= 0 {
		v = v[:n]
	}
	if v == "" || strings.HasPrefix(v, "--") {
		return f.at, ""
	}
	end = f.at + len(v)
	switch k {
	case secret:
		return f.bareSecret(v)
	case password:
		if !harmless(v) {
			return end, tokenMark
		}
	case address:
		if !isCode(v) {
			return end, f.r.endpoint(v)
		}
	case user:
		if f.sep == '=' && !isCode(v) && strings.Trim(strings.ToLower(v), letters+"0123456789_-.") == "" {
			return end, f.r.user(v)
		}
	}
	return f.at, ""
}

// bareSecret tells a secret from prose and program text, which name keys and
// tokens too ("api_key: missing", "api_key=self.api_key").
func (f *field) bareSecret(v string) (end int, text string) {
	end = f.at + len(v)
	switch strings.ToLower(v) {
	case "bearer", "basic", "token":
		if f.name != "token" {
			next := field{r: f.r, s: f.s, at: skipSpaces(f.s, end), name: f.name, sep: '='}
			if end, text := next.bare(password); end > next.at {
				return end, f.s[f.at:next.at] + text
			}
		}
		return f.at, ""
	}
	loose := f.sep == ':' || strings.ToUpper(f.name) != f.name && f.sep != ' '
	switch {
	case harmless(v),
		loose && strings.Trim(v, letters+"_.") == "",
		strings.EqualFold(f.name, "token") && !looksRandom(v):
		return f.at, ""
	}
	return end, tokenMark
}

// isCode says that an unquoted value is an expression of a program.
func isCode(v string) bool {
	first, _, dotted := strings.Cut(v, ".")
	return dotted && codeWords[first] || nothing[strings.ToLower(v)]
}

var codeWords = wordSet("self args server_args cfg config os options opts params parsed_args engine_args request")

// looksRandom says that a word is longer than a word of a language and holds a
// digit.
func looksRandom(v string) bool { return len(v) >= 16 && strings.ContainsAny(v, "0123456789") }
