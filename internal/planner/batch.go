package planner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"shakedown/internal/flags"
	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
	"shakedown/internal/plan/all"
)

// BatchCase is one line of a batch: a question without anything to look up but
// the model's small files.
type BatchCase struct {
	Case     json.RawMessage   `json:"case"` // repeated in the answer
	Engine   string            `json:"engine"`
	Version  string            `json:"version"`
	Deps     map[string]string `json:"deps"` // library versions, "transformers"
	GPU      BatchGPU          `json:"gpu"`
	Model    string            `json:"model"`
	ModelDir string            `json:"model_dir"` // folder with config.json
	Argv     []any             `json:"argv"`      // options without the model
	Env      map[string]string `json:"env"`
}

// BatchGPU is the hardware of a BatchCase, given whole.
type BatchGPU struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	SM        string  `json:"sm"`
	MemoryGiB float64 `json:"memory_gib"`
	MemoryMiB int     `json:"memory_mib"`
	Count     int     `json:"count"`
}

// BatchAnswer is one line of the answer, in the order of the cases.
type BatchAnswer struct {
	Case      json.RawMessage   `json:"case"`
	Outcome   string            `json:"outcome"` // ok | error
	Stage     string            `json:"stage,omitempty"`
	Error     string            `json:"error,omitempty"`
	Step      string            `json:"step,omitempty"` // id of the step that refuses
	Version   string            `json:"version,omitempty"`
	Effective map[string]any    `json:"effective"`
	Runtime   map[string]any    `json:"runtime"`
	Choices   []string          `json:"choices"` // ids, in the order in which they are made
	EnvSet    map[string]string `json:"env_set"`
	Log       []string          `json:"log"`
}

// stageInput is the stage of a case that could not be put to a resolver.
const stageInput = "input"

// maxCase bounds one line of a batch, in bytes.
const maxCase = 1 << 20

// Batch answers one case a line. Lines that cannot be read as a case, and cases
// that no resolver can answer, get an answer with the stage "input"; unreadable
// is their number. Answers keep the order of the cases.
func Batch(r io.Reader, w io.Writer) (unreadable int, err error) {
	b := &batch{models: newModelCache()}
	out := bufio.NewWriterSize(w, 256<<10)
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxCase)
	workers := runtime.GOMAXPROCS(0)
	block := make([][]byte, 0, 64*workers)
	flush := func() error {
		n, err := b.answer(out, block, workers)
		unreadable += n
		block = block[:0]
		return err
	}
	for sc.Scan() {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 {
			continue
		}
		block = append(block, bytes.Clone(line))
		if len(block) == cap(block) {
			if err := flush(); err != nil {
				return unreadable, err
			}
		}
	}
	if err := sc.Err(); err != nil {
		return unreadable, err
	}
	if err := flush(); err != nil {
		return unreadable, err
	}
	return unreadable, out.Flush()
}

type batch struct{ models *modelCache }

// answer answers the lines of a block, several at a time.
func (b *batch) answer(w io.Writer, lines [][]byte, workers int) (unreadable int, err error) {
	answers, asked := make([]*BatchAnswer, len(lines)), make([]bool, len(lines))
	var wg sync.WaitGroup
	for first := range workers {
		wg.Go(func() {
			for i := first; i < len(lines); i += workers {
				answers[i], asked[i] = b.one(lines[i])
			}
		})
	}
	wg.Wait()
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i, a := range answers {
		if !asked[i] {
			unreadable++
		}
		if err := enc.Encode(a); err != nil {
			return unreadable, err
		}
	}
	return unreadable, nil
}

// one answers one line; ok is false when it was no question.
func (b *batch) one(line []byte) (a *BatchAnswer, ok bool) {
	var q BatchCase
	refused := func(err error) (*BatchAnswer, bool) {
		if q.Case == nil {
			q.Case = json.RawMessage("null")
		}
		return &BatchAnswer{
			Case: q.Case, Outcome: "error", Stage: stageInput, Error: err.Error(),
			Effective: map[string]any{}, Runtime: map[string]any{}, Choices: []string{}, EnvSet: map[string]string{}, Log: []string{},
		}, false
	}
	if err := json.Unmarshal(line, &q); err != nil {
		return refused(fmt.Errorf("not a case: %w", err))
	}
	engine, err := all.Find(q.Engine)
	if err != nil {
		return refused(err)
	}
	c, err := b.question(&q)
	if err != nil {
		return refused(err)
	}
	return newBatchAnswer(q.Case, engine.Resolve(c)), true
}

// question reads the files that a case names.
func (b *batch) question(q *BatchCase) (plan.Case, error) {
	c := plan.Case{Engine: q.Engine, Version: q.Version, Deps: q.Deps, Env: q.Env}
	c.GPU = hardware.Like(hardware.GPU{
		ID: q.GPU.ID, Name: q.GPU.Name, SM: q.GPU.SM, MemoryGiB: q.GPU.MemoryGiB, MemoryMiB: q.GPU.MemoryMiB, Count: q.GPU.Count,
	})
	for _, a := range q.Argv {
		if s, ok := a.(string); ok {
			c.Argv = append(c.Argv, s)
		} else {
			c.Argv = append(c.Argv, fmt.Sprint(a))
		}
	}
	m, err := b.models.read(q.ModelDir)
	if err != nil {
		return c, err
	}
	c.Model = m
	table, _ := flags.Lookup(q.Engine, q.Version)
	c.Drafts = drafts(table, c.Argv, b.models.read)
	return c, nil
}

func newBatchAnswer(id json.RawMessage, res plan.Result) *BatchAnswer {
	a := &BatchAnswer{
		Case: id, Outcome: "ok", Version: res.Version,
		Effective: plainMap(res.Effective), Runtime: plainMap(res.Runtime),
		Choices: make([]string, 0, len(res.Choices)), EnvSet: res.EnvSet, Log: make([]string, 0, len(res.Lines)),
	}
	if a.EnvSet == nil {
		a.EnvSet = map[string]string{}
	}
	if res.Refusal != nil {
		a.Outcome, a.Stage, a.Error, a.Step = "error", res.Refusal.Stage, res.Refusal.Message, res.Refusal.Step
	}
	for _, ch := range res.Choices {
		a.Choices = append(a.Choices, ch.ID)
	}
	for _, l := range res.Lines {
		a.Log = append(a.Log, l.Text)
	}
	return a
}

// plainMap makes values fit for JSON: numbers that it cannot hold become the
// strings "NaN", "Inf" and "-Inf".
func plainMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = plainValue(v)
	}
	return out
}

func plainValue(v any) any {
	switch v := v.(type) {
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "Inf"
		case math.IsInf(v, -1):
			return "-Inf"
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainValue(v[i])
		}
		return out
	case map[string]any:
		return plainMap(v)
	}
	return v
}

// modelCache reads every folder once. It may be used from several goroutines.
type modelCache struct {
	mu     sync.Mutex
	models map[string]*cached
}

type cached struct {
	once  sync.Once
	model *hfconfig.Model
	err   error
}

func newModelCache() *modelCache { return &modelCache{models: map[string]*cached{}} }

// read reads the model in a folder.
func (c *modelCache) read(folder string) (*hfconfig.Model, error) {
	c.mu.Lock()
	e := c.models[folder]
	if e == nil {
		e = new(cached)
		c.models[folder] = e
	}
	c.mu.Unlock()
	e.once.Do(func() { e.model, e.err = readFolder(folder) })
	return e.model, e.err
}

// readFolder reads the small files of the checkpoint in a folder.
func readFolder(folder string) (*hfconfig.Model, error) {
	m, err := hfconfig.Read(os.DirFS(folder), folder)
	if err != nil {
		return nil, err
	}
	m.Name, m.Path = filepath.Base(folder), folder
	return m, nil
}
