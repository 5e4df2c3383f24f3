// Package explain is the use case behind `shakedown explain`: it reads sources,
// finds the launches in them, has each judged, and emits the messages. It is
// the only place where reading and judging meet.
//
//	sources -> blocks -> anchors (parallel) -> launches -> ledger -> rules -> messages
package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"shakedown/internal/clean"
	"shakedown/internal/command"
	"shakedown/internal/engine/all"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/knowledge"
	"shakedown/internal/knowledge/rules"
	"shakedown/internal/launch"
	"shakedown/internal/logstream"
)

// Options say what to explain.
type Options struct {
	Sources     []logstream.Source
	Engine      string           // engine or engine@version the user names, "" to recognise it
	GPU         string           // GPUs the user names: "8x RTX PRO 6000"
	Rules       []fs.FS          // further rule directories
	Command     *command.Command // the launch command, when the user gave it
	Flags       *flags.Table     // the flags of this very release, from its own --help
	ToolVersion string
	// Listed spares work on a long history: of more launches than this only the
	// first and the last so many are judged, and the last one before these that
	// failed. The others are counted. 0: all are judged.
	Listed int
}

// Result is what the caller needs for the exit code.
type Result struct {
	Launches int
	Findings int     // of the launches that were judged
	Last     Verdict // of the last launch
}

// Verdict is the answer for one launch.
type Verdict int

// Verdicts.
const (
	NoLaunch Verdict = iota
	Healthy
	Problem
	CantTell
)

// ErrNoEngine says that no inference engine was recognised in the input.
var ErrNoEngine = errors.New("no inference engine recognised: no start-up line, configuration dump, launch command or traceback of SGLang, vLLM, llama.cpp, TensorRT-LLM or LMDeploy")

// UnknownEngineError says that the user named an engine that is not known.
type UnknownEngineError struct{ Name string }

func (e *UnknownEngineError) Error() string { return fmt.Sprintf("unknown engine %q", e.Name) }

// Run explains all sources and emits messages to h in order: config, then per
// launch its messages; the end message is the caller's, who knows the exit code.
// It returns ErrNoEngine when nothing was recognised. h is called from one goroutine at a time and is not closed.
func Run(ctx context.Context, opt Options, h finding.Handler) (Result, error) {
	r, index, told, err := opt.prepare(h)
	if err != nil {
		return Result{}, err
	}
	if err := r.read(ctx, index, told); err != nil {
		return r.res, err
	}
	if r.res.Launches == 0 {
		return r.res, ErrNoEngine
	}
	return r.res, nil
}

// prepare loads the rules and opens the stream of messages.
func (o *Options) prepare(h finding.Handler) (*run, *launch.Index, launch.Told, error) {
	base, err := knowledge.Load(append([]fs.FS{rules.FS}, o.Rules...)...)
	if err != nil {
		return nil, nil, launch.Told{}, fmt.Errorf("rules: %w", err)
	}
	index, err := launch.NewIndex(all.List, base.Watches())
	if err != nil {
		return nil, nil, launch.Told{}, err
	}
	told, err := o.told()
	if err != nil {
		return nil, nil, told, err
	}
	r := &run{opt: *o, base: base, h: h, secrets: clean.NewSecrets()}
	return r, index, told, h.Handle(&finding.ConfigMsg{SchemaVersion: finding.SchemaVersion, ToolVersion: o.ToolVersion})
}

// told reads what the user says about the log.
func (o *Options) told() (launch.Told, error) {
	var t launch.Told
	if n, name, ok := strings.Cut(o.GPU, "x "); ok {
		t.Facts = append(t.Facts, fact.Fact{Key: fact.GPUCount, Value: strings.TrimSpace(n)}, fact.Fact{Key: fact.GPUName, Value: strings.TrimSpace(name)})
	} else if o.GPU != "" {
		t.Facts = append(t.Facts, fact.Fact{Key: fact.GPUName, Value: o.GPU})
	}
	if o.Engine == "" {
		return t, nil
	}
	name, version, _ := strings.Cut(o.Engine, "@")
	if version != "" {
		t.Facts = append(t.Facts, fact.Fact{Key: fact.EngineVersion, Value: version})
	}
	for _, e := range all.List {
		if e.Name == name {
			t.Engine = e
			return t, nil
		}
	}
	return t, &UnknownEngineError{name}
}

type run struct {
	opt     Options
	base    *knowledge.Base
	h       finding.Handler
	secrets *clean.Secrets
	res     Result
	late    late
	err     error // first error of the handler
}

// read goes through the sources. The launches of one source are judged as soon
// as they are complete, beside the reading; those of several are joined first.
func (r *run) read(ctx context.Context, index *launch.Index, told launch.Told) error {
	if len(r.opt.Sources) == 1 {
		return r.readOne(ctx, r.opt.Sources[0], index, told)
	}
	var held []*launch.Launch
	for _, src := range r.opt.Sources {
		b := launch.NewWriters(index, src.Name, told, func(l *launch.Launch) { held = append(held, l) })
		if err := scan(ctx, src, index, b); err != nil {
			return err
		}
	}
	for _, l := range launch.Join(held) {
		r.next(l)
	}
	r.finish()
	return r.err
}

// alone takes a launch of which no other file tells a part.
func (r *run) alone(l *launch.Launch) {
	for _, one := range launch.Join([]*launch.Launch{l}) {
		r.next(one)
	}
}

// waiting bounds the launches that are read and not judged yet.
const waiting = 16

func (r *run) readOne(ctx context.Context, src logstream.Source, index *launch.Index, told launch.Told) error {
	ready := make(chan *launch.Launch, waiting)
	judged := make(chan struct{})
	var failed error // of judging, once judged is closed
	go func() {
		defer close(judged)
		for l := range ready {
			if failed != nil {
				continue // the reader must not wait for ever
			}
			failed = recovered(func() { r.alone(l) })
		}
	}()
	var held []*launch.Launch // of several servers in one file: parts of one launch, maybe
	var writers *launch.Writers
	writers = launch.NewWriters(index, src.Name, told, func(l *launch.Launch) {
		if writers.Mixed() {
			held = append(held, l)
			return
		}
		ready <- l
	})
	err := scan(ctx, src, index, writers)
	close(ready)
	<-judged
	if failed == nil {
		failed = recovered(func() {
			for _, l := range sideBySide(held) {
				r.next(l)
			}
			r.finish()
		})
	}
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	return r.err
}

// sideBySide joins and orders the launches of several servers in one file. The
// last launch decides; where servers ran side by side, that is one that failed,
// wherever its lines stand.
func sideBySide(all []*launch.Launch) []*launch.Launch {
	slices.SortStableFunc(all, func(a, b *launch.Launch) int { return cmp.Compare(a.Files[0].First, b.Files[0].First) })
	all = launch.Join(all)
	last := make(map[string]*launch.Launch) // of each server
	for _, l := range all {
		last[l.Files[0].Name] = l
	}
	weight := func(l *launch.Launch) int {
		switch {
		case last[l.Files[0].Name] != l:
			return 0 // the server was started again
		case l.Outcome == finding.OK:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b *launch.Launch) int { return cmp.Compare(weight(a), weight(b)) })
	return all
}

// scanned is a block on its way from the anchor search to the builder.
type scanned struct {
	blk  *logstream.Block
	hits launch.Hits
	err  error
	done chan struct{} // receives a value when hits or err are there
}

// workers is the number of blocks searched at the same time: enough for two
// cores beside the reader and the builder.
const workers = 3

// scan reads one source: blocks are searched for anchors in parallel and handed
// to the builder in file order.
func scan(ctx context.Context, src logstream.Source, index *launch.Index, b *launch.Writers) error {
	rc, err := src.Open(ctx)
	if err != nil {
		return err
	}
	defer rc.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	order := make(chan *scanned, workers)
	used := make(chan *scanned, 2*workers) // for another block, with their memory for hits
	work := make(chan *scanned, workers)
	for range workers {
		go func() {
			for s := range work {
				s.err = recovered(func() { s.hits = index.Scan(s.blk.Data, s.hits) })
				s.done <- struct{}{}
			}
		}()
	}
	go func() {
		defer close(order)
		defer close(work)
		rd := logstream.NewReader(rc, logstream.ReaderOptions{})
		for {
			s := reuse(used)
			s.blk, s.err = nextBlock(rd)
			err := s.err
			if err != nil {
				s.done <- struct{}{}
			} else {
				work <- s
			}
			select {
			case order <- s:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for s := range order {
		<-s.done
		if s.err != nil {
			b.Close()
			if errors.Is(s.err, io.EOF) {
				return nil
			}
			return fmt.Errorf("%s: %w", src.Name, s.err)
		}
		b.Block(s.blk, s.hits)
		s.blk.Release()
		select {
		case used <- s:
		default:
		}
	}
	return ctx.Err()
}

// nextBlock reads a block; a panic of the reader is an error.
func nextBlock(rd *logstream.Reader) (blk *logstream.Block, err error) {
	if p := recovered(func() { blk, err = rd.Next() }); p != nil {
		return nil, p
	}
	return blk, err
}

func reuse(used <-chan *scanned) *scanned {
	select {
	case s := <-used:
		return s
	default:
		return &scanned{done: make(chan struct{}, 1)}
	}
}
