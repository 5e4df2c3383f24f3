// Command probe-table measures `shakedown probe` on servers whose state is known:
// every fault of docs/faults.md on several model families and in several
// severities, and healthy servers. It serves tiny models in its own process, probes
// them without and with the checkpoint, and writes the tables of docs/probes.md.
//
//	go run ./scripts/probe-table [flags]
//
// Run it in the repository's top folder. It exits with 1 when a healthy server
// fails a probe.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// options are the command line.
type options struct {
	file    string
	only    *regexp.Regexp
	kind    string
	workers int
	healthy int
	verbose bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "probe-table:", err)
		}
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("probe-table", flag.ContinueOnError)
	fs.StringVar(&o.file, "write", "", "file whose tables are replaced (docs/probes.md); empty: print them")
	only := fs.String("only", "", "regular expression: only servers whose name matches")
	fs.StringVar(&o.kind, "kind", "", "faults or healthy; empty: both")
	fs.IntVar(&o.workers, "workers", runtime.NumCPU(), "servers at the same time")
	fs.IntVar(&o.healthy, "healthy", 208, "number of healthy servers")
	fs.BoolVar(&o.verbose, "verbose", false, "tell of each server as it is probed")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	var err error
	o.only, err = regexp.Compile(*only)
	return o, err
}

func run(ctx context.Context, args []string, w io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	var list []server
	if o.kind != "healthy" {
		list = append(list, faulty()...)
	}
	if o.kind != "faults" {
		list = append(list, healthy(o.healthy)...)
	}
	list = slices.DeleteFunc(list, func(s server) bool { return !o.only.MatchString(s.name()) })
	results, err := o.probeAll(ctx, list, w)
	if err != nil {
		return err
	}
	text := tables(results)
	if o.file == "" {
		fmt.Fprint(w, text)
	} else if err := replace(o.file, text); err != nil {
		return err
	}
	for _, r := range results {
		if r.server.fault == "" && len(r.with.failed) > 0 {
			return fmt.Errorf("a healthy server failed: %s: %s", r.server.name(), r.with.text)
		}
	}
	return nil
}

// probeAll probes all servers, some at the same time.
func (o *options) probeAll(ctx context.Context, list []server, w io.Writer) ([]result, error) {
	results := make([]result, len(list))
	failed := make([]error, len(list))
	next := make(chan int)
	var wait sync.WaitGroup
	var mu sync.Mutex
	for range o.workers {
		wait.Go(func() {
			for i := range next {
				begun := time.Now()
				results[i], failed[i] = measure(ctx, &list[i])
				if o.verbose {
					mu.Lock()
					tell(w, &results[i], failed[i], time.Since(begun))
					mu.Unlock()
				}
			}
		})
	}
	for i := range list {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, err := range failed {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list[i].name(), err)
		}
	}
	return slices.DeleteFunc(results, func(r result) bool { return r.void }), nil
}

// tell says what became of one server.
func tell(w io.Writer, r *result, err error, took time.Duration) {
	fmt.Fprintf(w, "%s  %.1f s", r.server.name(), took.Seconds())
	switch {
	case err != nil:
		fmt.Fprintf(w, "  ERROR %v\n", err)
	case r.void:
		fmt.Fprintln(w, "  the fault does nothing to this model")
	default:
		fmt.Fprintf(w, "  %s  failed: %s  causes: %s\n", r.with.verdict, strings.Join(r.with.failed, " "), strings.Join(r.with.causes, " "))
		for _, t := range r.with.told {
			fmt.Fprintln(w, "    "+t)
		}
	}
}
