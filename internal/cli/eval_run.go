package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/eval"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/vocabulary"
	"shakedown/internal/report"
	"shakedown/internal/term"
)

// defaultNew is how many tokens eval continues with when nobody says.
const defaultNew = 16

// runEval evaluates the prompts one after the other, each a message of its own.
func runEval(ctx context.Context, o *evalOptions) error {
	num, err := parseNumerics("--numerics", o.numerics)
	if err != nil {
		return err
	}
	src, err := o.open()
	if err != nil {
		return err
	}
	defer src.Close()
	prompts, maxNew, err := o.prompts()
	if err != nil {
		return err
	}
	longest := 0
	for _, p := range prompts {
		longest = max(longest, len(p))
	}
	m, err := o.model(ctx, o.world, src, num, longest+maxNew, min(longest, eval.DefaultChunk))
	if err != nil {
		return err
	}
	out := o.handler(o.world, report.Options{}, report.NewEvalText)
	bad := 0
	if err := out.Handle(newConfigMsg()); err != nil {
		return outputError(err)
	}
	for i, p := range prompts {
		msg, err := eval.Run(ctx, m, i, p, eval.Options{MaxNew: maxNew, Choices: o.choices, Drafts: o.mtp})
		if err != nil {
			return o.promptError(err)
		}
		bad += msg.Bad
		o.read(msg)
		if err := out.Handle(msg); err != nil {
			return outputError(err)
		}
	}
	return finish(out, bad)
}

// read adds what ids mean, when the tokenizer was read.
func (o *evalOptions) read(msg *finding.EvalMsg) {
	if o.words == nil {
		return
	}
	msg.Text = o.words.Decode(msg.Greedy, false)
	msg.Words = map[string]string{}
	for _, top := range msg.Top {
		for _, r := range top {
			msg.Words[strconv.Itoa(r.ID)] = o.words.Decode([]int{r.ID}, false)
		}
	}
}

// finish ends a stream; values that are not finite are a problem.
func finish(out finding.Handler, bad int) error {
	var verdict error
	if bad > 0 {
		verdict = errProblem
	}
	if err := errors.Join(out.Handle(&finding.EndMsg{ExitCode: exitCode(verdict)}), out.Close()); err != nil {
		return outputError(err)
	}
	return verdict
}

func parseNumerics(flag, text string) (numerics.Numerics, error) {
	n, err := numerics.Parse(text)
	if err != nil {
		return n, usageError("shakedown help numerics", "%s: %w", flag, err)
	}
	return n, nil
}

// open opens the checkpoint.
func (o *modelOptions) open() (*load.Source, error) {
	src, err := load.Open(o.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, inputError(err, "shakedown eval --help")
		}
		return nil, inputError(err, "shakedown inspect "+o.dir)
	}
	return src, nil
}

// model binds the checkpoint to an arithmetic, when it fits into memory and its
// weights are numbers.
func (o *modelOptions) model(ctx context.Context, w *World, src *load.Source, num numerics.Numerics, tokens, held int) (*oracle.Model, error) {
	if err := src.Fits(num, tokens, held); err != nil {
		return nil, inputError(err, "")
	}
	status := term.NewStatus(w.Stderr, term.Detect(w.Stderr, w.Env, term.When(o.color)))
	defer status.Clear()
	if !o.allowNaN {
		if err := src.CheckFinite(ctx, progress(status, "checking weights")); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, inputError(err, "shakedown eval "+o.dir+" --allow-nan ...")
		}
	}
	status.Set("binding weights to " + num.Name)
	m, err := src.Model(num)
	if err != nil {
		return nil, inputError(err, "shakedown inspect "+o.dir)
	}
	return m, nil
}

// promptError is an error of a prompt: a usage error, as the user gave it.
func (o *modelOptions) promptError(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return usageError("", "%w", err)
}

// prompts are what is to be evaluated, and how many tokens to continue with.
func (o *evalOptions) prompts() ([][]int, int, error) {
	maxNew := defaultNew
	var prompts [][]int
	if o.tokensFile == "" {
		p, err := o.one()
		if err != nil {
			return nil, 0, err
		}
		prompts = [][]int{p}
	} else {
		file, err := readTokensFile(o.tokensFile)
		if err != nil {
			return nil, 0, inputError(fmt.Errorf("%s: %w", o.tokensFile, err), "shakedown eval --help")
		}
		prompts = file.Prompts
		if file.MaxNew != nil {
			maxNew = *file.MaxNew
		}
	}
	if o.maxNew >= 0 {
		maxNew = o.maxNew
	}
	return prompts, maxNew, nil
}

// one is the prompt of --tokens or --prompt, for which it reads the tokenizer.
func (o *modelOptions) one() ([]int, error) {
	if o.tokens == "" {
		t, err := vocabulary.Tokenizer(o.dir)
		if err != nil {
			return nil, inputError(fmt.Errorf("--prompt needs a tokenizer: %w", err), "shakedown eval "+o.dir+" --tokens 1,2,3")
		}
		o.words = t
		return t.Encode(o.prompt, true), nil
	}
	var ids []int
	for _, word := range strings.Split(o.tokens, ",") {
		id, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return nil, usageError("", "--tokens: %q is no token id", word)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// tokensFile is the content of --tokens-file.
type tokensFile struct {
	Prompts [][]int `json:"prompts"`
	MaxNew  *int    `json:"max_new"`
}

// maxTokensFile bounds the file: 64 MiB are some ten million token ids.
const maxTokensFile = 64 << 20

func readTokensFile(name string) (*tokensFile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTokensFile+1))
	if err != nil {
		return nil, err
	}
	return parseTokensFile(data)
}

func parseTokensFile(data []byte) (*tokensFile, error) {
	if len(data) > maxTokensFile {
		return nil, fmt.Errorf("larger than %d MiB", maxTokensFile>>20)
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	out := &tokensFile{}
	if err := dec.Decode(out); err != nil {
		return nil, fmt.Errorf(`not {"prompts":[[ids],...],"max_new":N}: %w`, err)
	}
	if len(out.Prompts) == 0 {
		return nil, errors.New("no prompts in it")
	}
	if out.MaxNew != nil && (*out.MaxNew < 0 || *out.MaxNew > maxNewTokens) {
		return nil, fmt.Errorf("max_new %d: 0 to %d are possible", *out.MaxNew, maxNewTokens)
	}
	return out, nil
}
