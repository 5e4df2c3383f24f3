// Command score prints how well `shakedown explain` does on labelled logs, both
// on the half that rules are written from and on the half that is held back.
//
//	go run ./scripts/score [flags]
//
// Run it in the repository's top folder. It exits with 1 when a score is below
// a -min flag, and says so when a folder is absent.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"shakedown/internal/score"
)

// folders is a flag that may be given several times.
type folders []string

func (f *folders) String() string { return strings.Join(*f, " ") }

func (f *folders) Set(dir string) error {
	*f = append(*f, dir)
	return nil
}

// options are the command line.
type options struct {
	corpora   folders
	incidents string
	rules     string
	verbose   bool
	floor     score.Floor
	incFloor  float64
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "score:", err)
		}
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("score", flag.ContinueOnError)
	fs.Var(&o.corpora, "corpus", "folder with LABELS.jsonl and logs; may be given several times")
	fs.StringVar(&o.incidents, "incidents", "../shared/corpus", "folder with incidents.jsonl and incident-labels.jsonl")
	fs.StringVar(&o.rules, "rules", "internal/knowledge/rules", "folder with the rules' fixtures")
	fs.BoolVar(&o.verbose, "verbose", false, "print every miss and the hits of every rule")
	fs.Float64Var(&o.floor.Top1, "min-top1", 0, "lowest share of launches whose first finding is right, for every folder")
	fs.Float64Var(&o.floor.Top3, "min-top3", 0, "the same for the first three findings")
	fs.Float64Var(&o.floor.Precision, "min-precision", 0, "lowest share of right findings among proven and likely ones")
	fs.Float64Var(&o.floor.Healthy, "min-healthy", 0, "lowest share of healthy launches called healthy")
	fs.Float64Var(&o.floor.Split, "min-split", 0, "lowest share of logs split into the labelled launches")
	fs.Float64Var(&o.incFloor, "min-incidents", 0, "lowest share of incidents whose cause is right")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: use --corpus %[1]s", fs.Arg(0))
	}
	if len(o.corpora) == 0 {
		o.corpora = folders{"internal/score/testdata/corpus", "../shared/corpus/logs", "../shared/corpus/local"}
	}
	return o, nil
}

func run(args []string, w io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	use, err := score.NewUsage()
	if err != nil {
		return err
	}
	ctx := context.Background()
	var below []error
	for _, dir := range o.corpora {
		err := o.corpus(ctx, w, dir, use)
		if errors.Is(err, score.ErrBelow) {
			below = append(below, fmt.Errorf("%s: %w", dir, err))
		} else if err != nil {
			return err
		}
	}
	if present(w, o.incidents, "incidents.jsonl") {
		s, err := score.Incidents(ctx, os.DirFS(o.incidents), use)
		if err != nil {
			return err
		}
		s.Print(w, filepath.Join(o.incidents, "incidents.jsonl"), o.verbose)
		if s.All.Value() < o.incFloor {
			below = append(below, fmt.Errorf("%s: cause %.3f, want %.3f: %w", o.incidents, s.All.Value(), o.incFloor, score.ErrBelow))
		}
	}
	if present(w, o.rules, "") {
		if err := score.Fixtures(ctx, os.DirFS(o.rules), use); err != nil {
			return err
		}
	}
	use.Print(w, o.verbose)
	return errors.Join(below...)
}

// corpus scores one labelled folder.
func (o *options) corpus(ctx context.Context, w io.Writer, dir string, use *score.Usage) error {
	if !present(w, dir, "LABELS.jsonl") {
		return nil
	}
	l, err := score.Corpus(ctx, os.DirFS(dir), use)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	l.Print(w, dir, o.verbose)
	return o.floor.Check(l.All)
}

// present says whether dir holds the file, and prints when it does not.
func present(w io.Writer, dir, file string) bool {
	name := filepath.Join(dir, file)
	if _, err := os.Stat(name); err != nil {
		fmt.Fprintf(w, "not run: %s is absent\n", name)
		return false
	}
	return true
}
