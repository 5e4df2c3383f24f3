package redact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// SecretName says whether a flag, variable or field of this name holds a secret
// (HF_TOKEN, --api-key, model.hf_token). Of a dotted name the last part counts.
func SecretName(name string) bool { return secretKind(name) != other }

// Words of names whose values are secrets.
var (
	passwordWords = wordSet("password passwd passphrase pgpassword")
	secretWords   = wordSet("secret secrets credential credentials apikey")
	// keyOwners make a secret of a "key" that follows them.
	keyOwners = wordSet("api access private")
	// headerNames are whole names: fields of HTTP headers and signed URLs.
	headerNames = wordSet("authorization proxy_authorization cookie set_cookie x_amz_signature")
)

// ordinaryTokens are the words that make an ordinary token of the "token" that
// follows them: the special tokens of a vocabulary (as named by the
// configuration of Hugging Face tokenizers) and tokens that are counted.
var ordinaryTokens = wordSet(`bos eos pad unk sep cls mask fim eot eom eod boi eoi image video audio vision speech special added extra
	placeholder newline nl begin start end stop think thinking reasoning tool control adapter
	max min num per one each first last next prev previous current new cached pending decoded accepted draft bonus target inter
	input output prompt prefill decode generated generation sampled completion total single kv`)

// secretKind is secret, password, or other for a name of neither.
func secretKind(name string) kind {
	name = strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	words := strings.FieldsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	before := ""
	for _, w := range words {
		switch {
		case passwordWords[w], w == "pwd" && before == "mysql":
			return password
		case secretWords[w], (w == "key" || w == "keys") && keyOwners[before]:
			return secret
		}
		if w != "token" {
			before = w
		}
	}
	if n := len(words); n > 0 && words[n-1] == "token" && !ordinaryTokens[before] || headerNames[strings.Join(words, "_")] {
		return secret
	}
	return other
}

// tokenShapes are the forms of keys and tokens, each behind a literal that must
// occur. Sources: the providers' documentation of their token formats.
var tokenShapes = []struct {
	hint  string
	shape *regexp.Regexp
}{
	{"hf_", regexp.MustCompile(`\bhf_[A-Za-z0-9]{16,}`)},
	{"api_org_", regexp.MustCompile(`\bapi_org_[A-Za-z0-9]{16,}`)},
	{"sk-", regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`)},
	{"AKIA", regexp.MustCompile(`\bAKIA[0-9A-Z]{16}\b`)},
	{"ASIA", regexp.MustCompile(`\bASIA[0-9A-Z]{16}\b`)},
	{"gh", regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,}`)},
	{"github_pat_", regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{20,}`)},
	{"glpat-", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{16,}`)},
	{"xox", regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`)},
	{"xapp-", regexp.MustCompile(`\bxapp-[A-Za-z0-9-]{10,}`)},
	{"nvapi-", regexp.MustCompile(`\bnvapi-[A-Za-z0-9_-]{20,}`)},
	{"AIza", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`)},
	{"gsk_", regexp.MustCompile(`\bgsk_[A-Za-z0-9]{20,}`)},
	{"dckr_pat_", regexp.MustCompile(`\bdckr_pat_[A-Za-z0-9_-]{16,}`)},
	{"eyJ", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*)?`)},
}

var (
	bearer      = regexp.MustCompile(`(?i)\bbearer  *([A-Za-z0-9._~+/=-]{8,})`)
	urlPassword = regexp.MustCompile(`://[^/\s:@<>'"]*:([^/\s@<>'"]+)@`)
	urlQuery    = regexp.MustCompile(`[?&]([A-Za-z][A-Za-z0-9_.-]*)=([^&#\s'"<>\\,;()\[\]{}]+)`)
)

// queryNames are parameters of URLs that hold secrets there, and in other places
// mean other things.
var queryNames = wordSet("token key auth pass pwd sig signature x_goog_signature")

// secretQuery says whether a parameter of a URL holds a secret.
func secretQuery(name string) bool {
	return queryNames[strings.ReplaceAll(strings.ToLower(name), "-", "_")] || SecretName(name)
}

// SecretsIn returns the places of secrets that give themselves away without a
// field name: tokens with a known shape, what follows "Bearer", passwords of
// accounts and parameters in URLs. They are byte offsets (begin, end), in order and apart.
func SecretsIn(s string) [][2]int {
	var found [][2]int
	for _, t := range tokenShapes {
		if strings.Contains(s, t.hint) {
			for _, m := range t.shape.FindAllStringIndex(s, -1) {
				found = append(found, [2]int{m[0], m[1]})
			}
		}
	}
	if strings.Contains(s, "earer ") || strings.Contains(s, "EARER ") {
		found = append(found, groupsOf(bearer, s, func(word string) bool {
			return strings.Trim(word, letters) != "" // not "bearer authentication"
		})...)
	}
	if strings.Contains(s, "://") && strings.Contains(s, "@") {
		found = append(found, groupsOf(urlPassword, s, func(word string) bool { return !harmless(word) })...)
	}
	if strings.Contains(s, "://") && strings.Contains(s, "?") {
		for _, m := range urlQuery.FindAllStringSubmatchIndex(s, -1) {
			if secretQuery(s[m[2]:m[3]]) && !harmless(s[m[4]:m[5]]) {
				found = append(found, [2]int{m[4], m[5]})
			}
		}
	}
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], b[1]-a[1]) })
	end := 0
	return slices.DeleteFunc(found, func(p [2]int) bool {
		if p[0] < end {
			return true
		}
		end = p[1]
		return false
	})
}

// groupsOf returns the places of re's first group that keep accepts.
func groupsOf(re *regexp.Regexp, s string, keep func(word string) bool) [][2]int {
	var found [][2]int
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		if keep(s[m[2]:m[3]]) {
			found = append(found, [2]int{m[2], m[3]})
		}
	}
	return found
}

// hideSecrets replaces what SecretsIn finds.
func hideSecrets(s string) string {
	found := SecretsIn(s)
	if found == nil {
		return s
	}
	var b strings.Builder
	done := 0
	for _, p := range found {
		b.WriteString(s[done:p[0]])
		b.WriteString(tokenMark)
		done = p[1]
	}
	b.WriteString(s[done:])
	return b.String()
}
