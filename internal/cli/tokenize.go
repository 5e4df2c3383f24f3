package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/tokenizer"
	"shakedown/internal/oracle/vocabulary"
)

type tokenizeOptions struct {
	world   *World
	path    string
	text    string
	given   bool // --text was given
	decode  string
	special bool
	json    bool
}

func newTokenizeCmd(w *World, runF func(context.Context, *tokenizeOptions) error) *cobra.Command {
	opts := &tokenizeOptions{world: w}
	cmd := &cobra.Command{
		Use:   "tokenize DIR|tokenizer.json|NAME.tiktoken|FILE.gguf",
		Short: "Show the tokens of a text, or the text of tokens",
		Long: `Read the model's own tokenizer and print the tokens of a text, one on a line: its
id and what it stands for. The text comes from --text or from standard input. A
kind of tokenizer that is not known is refused by name, never guessed.`,
		Example: `  shakedown tokenize /models/GLM-5 --text "The capital of France is"
  shakedown tokenize model.gguf --decode 785,6722,315`,
		Args: takes(1, 1, "one checkpoint, vocabulary or GGUF file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.path, opts.given = args[0], cmd.Flags().Changed("text")
			if opts.given && cmd.Flags().Changed("decode") {
				return usageError("shakedown tokenize --help", "--text and --decode exclude each other")
			}
			return runF(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.text, "text", "", "`TEXT` to take apart; default: standard input")
	f.StringVar(&opts.decode, "decode", "", "print the text of these token `IDS`, separated by commas")
	f.BoolVar(&opts.special, "special", false, "add the tokens that the model wants around a text, and show special tokens when decoding")
	addJSONFlag(cmd, &opts.json)
	return cmd
}

// tokenizeMsg is the one message of tokenize --json.
type tokenizeMsg struct {
	Message string   `json:"message"` // "tokens"
	IDs     []int    `json:"ids"`
	Tokens  []string `json:"tokens"` // as the vocabulary spells them
	Text    string   `json:"text"`   // decoded again
}

// maxText bounds what is read from standard input, in bytes.
const maxText = 64 << 20

func runTokenize(_ context.Context, opts *tokenizeOptions) error {
	t, err := vocabulary.Tokenizer(opts.path)
	if err != nil {
		return vocabularyError(err)
	}
	if opts.decode != "" {
		return opts.decoded(t)
	}
	text := opts.text
	if !opts.given {
		if waitsForTyping(opts.world) {
			return usageError("shakedown tokenize "+opts.path+` --text "Hello"`, "no text given, and standard input is a terminal")
		}
		data, err := io.ReadAll(io.LimitReader(opts.world.Stdin, maxText+1))
		if err != nil {
			return err
		}
		if len(data) > maxText {
			return inputError(fmt.Errorf("the text has more than %d MiB", maxText>>20), "")
		}
		text = string(data)
	}
	return opts.print(t, t.Encode(text, opts.special))
}

func (o *tokenizeOptions) print(t *tokenizer.Tokenizer, ids []int) error {
	msg := tokenizeMsg{Message: "tokens", IDs: ids, Tokens: make([]string, len(ids)), Text: t.Decode(ids, false)}
	for i, id := range ids {
		msg.Tokens[i], _ = t.Token(id)
	}
	if o.json {
		return printJSON(o.world.Stdout, msg)
	}
	var b strings.Builder
	for _, id := range ids {
		mark := ""
		if t.Special(id) {
			mark = "  special"
		}
		fmt.Fprintf(&b, "%8d  %s%s\n", id, strconv.Quote(t.Raw(id)), mark)
	}
	_, err := io.WriteString(o.world.Stdout, b.String())
	return err
}

// decoded prints the text of --decode.
func (o *tokenizeOptions) decoded(t *tokenizer.Tokenizer) error {
	var ids []int
	for _, field := range strings.Split(o.decode, ",") {
		id, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil {
			return usageError("shakedown tokenize --help", "--decode %q: %q is no token id", o.decode, field)
		}
		if _, ok := t.Token(id); !ok {
			return inputError(fmt.Errorf("the vocabulary of %s has no token %d; its ids end at %d", o.path, id, t.Size()-1), "")
		}
		ids = append(ids, id)
	}
	if o.json {
		return o.print(t, ids)
	}
	_, err := fmt.Fprintln(o.world.Stdout, t.Decode(ids, !o.special))
	return err
}

// vocabularyError is an error of reading a tokenizer or chat template, with what
// the user can do.
func vocabularyError(err error) error {
	if errors.Is(err, tokenizer.ErrNone) || errors.Is(err, chat.ErrNone) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, tokenizer.ErrUnsupported) {
		return inputError(err, "")
	}
	return inputError(fmt.Errorf("cannot be read: %w", err), "")
}

// printJSON writes one message on a line, with "<|end|>" as it is.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
