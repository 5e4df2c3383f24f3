package command

import (
	"regexp"
	"strings"
)

// maxLine bounds a command inside a log.
const maxLine = 32 << 10

// hints are parts of every engine's program; a line without one is no launch.
var hints = []string{"sglang", "vllm", "llama-", "llama.cpp", "trtllm-serve", "lmdeploy", "tensorrt_llm.commands"}

// prompt is what may stand before a command: a shell prompt, the "+" of set -x,
// or a word that announces it.
var prompt = regexp.MustCompile(`^\s*(?:(?:\([\w.-]+\) )?(?:[\w.-]+@[\w.-]+:\S*|\[[\w.-]+@[\w.-]+ [^\]]{1,64}\])[$#] *|[$#%>] +|\++ +|` +
	`(?:command|cmd)=|(?i:(?:running|executing|launching|starting|run|exec|command|cmd|args?)(?: [a-z]+){0,3}: *))`)

// ParseLine reads a command from one line of a log. Everything in it is data:
// references and substitutions are quoted when printed, redirections and
// further commands are dropped. Prose that merely begins like a command is not
// one.
func ParseLine(line string) (Command, bool) {
	if len(line) > maxLine || !hinted(line) {
		return Command{}, false
	}
	text := line[len(prompt.FindString(line)):]
	if strings.TrimSpace(text) == "" {
		return Command{}, false
	}
	r := &scriptReader{lexer: newLexer(text, true), scope: newScope()}
	all := r.launches()
	if len(all) == 0 || r.lexer.open > 0 || all[0].start > 0 && !chained(text[:all[0].start]) {
		return Command{}, false
	}
	c := all[0].command
	c.Line, c.LastLine = 0, 0
	if c.prose(text[all[0].start:all[0].end]) {
		return Command{}, false
	}
	return c, true
}

func hinted(line string) bool {
	for _, h := range hints {
		if strings.Contains(line, h) {
			return true
		}
	}
	return false
}

// chained says whether what precedes a launch ends in an operator that joins
// commands, as in "cd /x && vllm serve".
func chained(before string) bool {
	before = strings.TrimSpace(before)
	return before == "" || strings.HasSuffix(before, "&&") || strings.HasSuffix(before, ";")
}

// prose says whether the words read like a sentence about a command: no
// argument at all, placeholders, or several bare words before the first flag.
func (c Command) prose(text string) bool {
	options := c.Options()
	if len(options) == 0 || strings.ContainsAny(text, "<>") && placeholder.MatchString(text) {
		return true
	}
	bare := 0
	for _, o := range options {
		if strings.HasPrefix(o, "-") {
			break
		}
		bare++
	}
	if !positionalModel[c.Engine] {
		return bare > 0
	}
	return bare > 1
}

// placeholder is how usage lines write what is to be filled in.
var placeholder = regexp.MustCompile(`<[A-Za-z][\w -]*>|\[(?:options|args|flags)\]`)
