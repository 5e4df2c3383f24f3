package cli

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shakedown/internal/probe"
	"shakedown/internal/prober"
)

type probeOptions struct {
	outputOptions
	documentOptions
	world *World
	now   func() time.Time

	url             string
	quick, thorough bool
	gentle          bool
	budget          string
	model           string
	keyFrom         string // name of the variable that holds the key
	modelDir        string // folder of the model's own small files; default: oracle
	oracle          string // checkpoint for the exact engine
	against         string // address of a second server
	againstKeyFrom  string
	baseline        string // file with an earlier --json run
	expect          []string
	timeout         time.Duration
	cacert          string
	insecure        bool
	dryRun          bool
	full            bool

	bounds   prober.Budget  // budget, read
	expected probe.Expected // expect, read
}

// keyVariable holds the key that a server asks for.
const keyVariable = "SHAKEDOWN_API_KEY"

func newProbeCmd(w *World, runF func(context.Context, *probeOptions) error) *cobra.Command {
	opts := &probeOptions{world: w, now: time.Now}
	cmd := &cobra.Command{
		Use:   "probe URL",
		Short: "Ask a running server until it is proven right or wrong",
		Long: `Ask a running server with OpenAI's API whether it computes rightly, and say what is
wrong: the same request twice, what was decoded against what a prefill says, alone
and among others, from the prefix cache, greedy and sampled, chats, streams, limits.
The server is held against itself; with --oracle against the exact engine, with
--against against a second server.

What will be sent at most is printed before the first request to the model and is
never exceeded. --dry-run only prints it. A key is taken from the variable
` + keyVariable + `, or from the one that --api-key-env names. There is no flag for
the key itself: other users of the machine could read it in the list of processes.

The exit code is 0 when the server is proven right, 3 when it is wrong, 5 when that
can't be told, and 4 when there is no such server.`,
		Example: `  shakedown probe http://127.0.0.1:8000
  shakedown probe http://127.0.0.1:8000 --quick --gentle
  shakedown probe http://127.0.0.1:30000 --oracle /models/GLM-5-FP8 --budget "60 requests, 90s"
  shakedown probe https://llm.example.org --expect model=glm-5 --expect context=202752`,
		Args: takes(1, 1, "one address"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.url = args[0]
			if err := opts.check(); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.addTo(cmd)
	f := cmd.Flags()
	f.BoolVar(&opts.quick, "quick", false, "fewer than 10 requests")
	f.BoolVar(&opts.thorough, "thorough", false, "long decodes, long prompts, many at a time")
	f.BoolVar(&opts.gentle, "gentle", false, "one request at a time, and nothing that strains a server in production")
	f.StringVar(&opts.budget, "budget", "", "send less, or take more time: `LIMITS` as in \"40 requests, 2000 tokens, 10m\"")
	f.BoolVar(&opts.dryRun, "dry-run", false, "print what would be sent, and end")
	f.StringVar(&opts.model, "model", "", "`NAME` of the model, where the server has several")
	f.StringVar(&opts.keyFrom, "api-key-env", keyVariable, "`NAME` of the variable that holds the key")
	f.StringVar(&opts.modelDir, "model-dir", "", "the model's own tokenizer, template and limits are in `DIR`")
	f.StringVar(&opts.oracle, "oracle", "", "compare with the exact engine on the checkpoint in `DIR`")
	f.StringVar(&opts.against, "against", "", "compare with the server at `URL`")
	f.StringVar(&opts.againstKeyFrom, "against-key-env", "", "`NAME` of the variable that holds the key of that server")
	f.StringVar(&opts.baseline, "baseline", "", "say what changed since the --json run in `FILE`")
	f.StringArrayVar(&opts.expect, "expect", nil, "`KEY=VALUE` that must be so: model, engine, version, context, started")
	f.DurationVar(&opts.timeout, "timeout", 0, "`TIME` that one request may take; 0: two minutes")
	f.StringVar(&opts.cacert, "cacert", "", "trust the certificates in `FILE`, too")
	f.BoolVar(&opts.insecure, "insecure", false, "accept any certificate")
	f.BoolVar(&opts.full, "full", false, "show bounds, settings, requests and answers")
	opts.addDocumentsTo(cmd)
	return cmd
}

// check reports what no run could use.
func (o *probeOptions) check() error {
	const help = "shakedown probe --help"
	switch {
	case o.quick && o.thorough:
		return usageError(help, "only one of --quick and --thorough can be asked for")
	case o.timeout < 0:
		return usageError(help, "--timeout %s is negative", o.timeout)
	case o.insecure && o.cacert != "":
		return usageError(help, "--insecure accepts any certificate: leave out --cacert, or rather --insecure")
	case o.dryRun && (o.markdown || o.html != "" || o.junit != "" || o.baseline != ""):
		return usageError(help, "--dry-run judges nothing: it goes with --json or text alone")
	case o.againstKeyFrom != "" && o.against == "":
		return usageError(help, "--against-key-env is the key for --against URL, which is missing")
	case o.claimsOfStdout(o.json) > 1:
		return usageError("shakedown help output", "only one of --json, --markdown, --html - and --junit - can have standard output")
	}
	var err error
	if o.bounds, err = parseBudget(o.budget); err != nil {
		return usageError(help, "--budget: %w", err)
	}
	if o.expected, err = parseExpected(o.expect, o.now()); err != nil {
		return usageError(help, "--expect: %w", err)
	}
	return o.outputOptions.check()
}

func (o *probeOptions) level() probe.Level {
	switch {
	case o.quick:
		return probe.Quick
	case o.thorough:
		return probe.Thorough
	}
	return probe.Default
}

// amount is one limit of a budget: "40 requests", "2000 tokens".
var amount = regexp.MustCompile(`^(\d{1,9})\s*(requests?|tokens?)$`)

// parseBudget reads limits that are separated by commas.
func parseBudget(text string) (prober.Budget, error) {
	var b prober.Budget
	if text == "" {
		return b, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if m := amount.FindStringSubmatch(part); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil || n == 0 {
				return b, fmt.Errorf("%q is nothing", part)
			}
			into := &b.Requests
			if strings.HasPrefix(m[2], "token") {
				into = &b.Tokens
			}
			if *into != 0 {
				return b, fmt.Errorf("%q limits the same again", part)
			}
			*into = n
			continue
		}
		d, err := time.ParseDuration(strings.ReplaceAll(part, " ", ""))
		switch {
		case err != nil || d <= 0:
			return b, fmt.Errorf("%q is no limit: write \"40 requests\", \"2000 tokens\" or \"60s\", separated by commas", part)
		case b.Time != 0:
			return b, fmt.Errorf("%q limits the same again", part)
		}
		b.Time = d
	}
	return b, nil
}

// parseExpected reads what the user knows of the server.
func parseExpected(list []string, now time.Time) (probe.Expected, error) {
	var e probe.Expected
	seen := map[string]bool{}
	for _, s := range list {
		key, value, ok := strings.Cut(s, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok || value == "":
			return e, fmt.Errorf("%q: want KEY=VALUE", s)
		case seen[key]:
			return e, fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		switch key {
		case "model":
			e.Model = value
		case "engine":
			e.Engine = value
		case "version":
			e.Version = value
		case "context":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return e, fmt.Errorf("context %q: want a number of tokens", value)
			}
			e.Context = n
		case "started":
			at, err := parseStarted(value, now)
			if err != nil {
				return e, err
			}
			e.StartedAfter = at.Unix()
		default:
			return e, fmt.Errorf("%q is none of model, engine, version, context, started", key)
		}
	}
	return e, nil
}

// parseStarted reads a time of day with its date, or how long ago it was.
func parseStarted(value string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(value); err == nil && ago > 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return at, fmt.Errorf("started %q: want a time such as 2026-02-19T00:19:00Z, or how long ago at most: 10m", value)
	}
	return at, nil
}
