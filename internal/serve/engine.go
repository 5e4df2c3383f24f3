package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"shakedown/internal/oracle"
	"shakedown/internal/oracle/eval"
	"shakedown/internal/oracle/sample"
)

// Limits bound what the engine takes on. Memory for texts is announced by them:
// Tokens times the bytes of one token in the KV cache.
type Limits struct {
	Context int // tokens of one text, prompt and answer
	Running int // texts that are computed at the same time
	Queued  int // texts that wait
	Tokens  int // tokens of all running and kept texts together
	Chunk   int // tokens of a prompt that are computed at once
}

// job is one answer to one prompt.
type job struct {
	ctx       context.Context
	cancel    context.CancelFunc
	id        string // of the request, for reports of bugs
	prompt    []int
	params    sample.Params
	max       int          // tokens of the answer
	stop      map[int]bool // tokens that end it
	ignore    bool         // stop tokens do not end it
	logprobs  int          // likeliest tokens to tell with each; -1: no logprobs
	promptTop int          // likeliest tokens to tell with each of the prompt; -1: none
	events    *outbox

	session *oracle.Session // nil until the first piece of the prompt is computed
	sampler *sample.Sampler
	fed     int   // tokens of the prompt that the session holds
	cached  int   // of these, taken from an earlier text
	answer  []int // tokens chosen
	next    int   // chosen and not fed yet
}

// event is what happens to a job.
type event struct {
	token  *token
	prompt []token // logprobs of the prompt, before the first token
	done   *done
}

// token is one token of an answer or prompt with its logprobs.
type token struct {
	id      int
	logprob float32
	rank    int // from 1, the likeliest
	top     []ranked
}

type ranked struct {
	id      int
	logprob float32
}

// done ends a job.
type done struct {
	reason string // "stop", "length"
	stop   int    // the token that ended it, -1 for none
	cached int    // tokens of the prompt that were not computed again
	err    error
}

// Errors with which the engine ends or refuses a job.
var (
	errFull     = errors.New("the queue is full")
	errDraining = errors.New("the server is shutting down")
)

// bugError is a panic while a request was computed.
type bugError struct {
	id    string
	value any
	stack []byte
}

func (e *bugError) Error() string {
	return fmt.Sprintf("a bug in shakedown ended request %s: %v", e.id, e.value)
}

// engine computes jobs. One goroutine owns all texts; the others hand jobs in and
// read events.
type engine struct {
	model  *oracle.Model
	limits Limits
	counts *counters
	bug    func(*bugError)

	mu       sync.Mutex
	waiting  []*job
	draining bool
	wake     chan struct{}
	idle     chan struct{} // closed when the loop has ended

	running []*job
	kept    []*text // finished texts, oldest first, whose beginnings serve others
}

func newEngine(m *oracle.Model, l Limits, c *counters, bug func(*bugError)) *engine {
	return &engine{model: m, limits: l, counts: c, bug: bug, wake: make(chan struct{}, 1), idle: make(chan struct{})}
}

// submit queues jobs, all or none.
func (e *engine) submit(jobs ...*job) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return errDraining
	}
	if len(e.waiting)+len(jobs) > e.limits.Queued {
		return errFull
	}
	e.waiting = append(e.waiting, jobs...)
	e.counts.waiting.Store(int64(len(e.waiting)))
	e.signal()
	return nil
}

func (e *engine) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// drain refuses new jobs and lets those that are in finish.
func (e *engine) drain() {
	e.mu.Lock()
	e.draining = true
	e.mu.Unlock()
	e.signal()
}

// run computes until ctx ends, or until all jobs are done after drain.
func (e *engine) run(ctx context.Context) {
	defer close(e.idle)
	for {
		e.admit()
		if len(e.running) == 0 {
			e.mu.Lock()
			over := e.draining && len(e.waiting) == 0
			e.mu.Unlock()
			if over {
				return
			}
			select {
			case <-e.wake:
				continue
			case <-ctx.Done():
				e.abort(ctx.Err())
				return
			}
		}
		if ctx.Err() != nil {
			e.abort(ctx.Err())
			return
		}
		e.step(ctx)
	}
}

// abort ends everything.
func (e *engine) abort(err error) {
	e.mu.Lock()
	e.draining = true
	jobs := append(e.running, e.waiting...)
	e.running, e.waiting = nil, nil
	e.mu.Unlock()
	for _, j := range jobs {
		e.end(j, done{err: err, stop: -1})
	}
}

// admit starts waiting jobs, in their order, while there is room for them.
func (e *engine) admit() {
	for {
		e.mu.Lock()
		if len(e.waiting) == 0 || len(e.running) >= e.limits.Running {
			e.mu.Unlock()
			return
		}
		j := e.waiting[0] // nobody else takes jobs away
		e.mu.Unlock()
		gone := j.ctx.Err() != nil
		if !gone && !e.makeRoom(j) {
			return
		}
		e.mu.Lock()
		e.waiting = e.waiting[1:]
		e.counts.waiting.Store(int64(len(e.waiting)))
		e.mu.Unlock()
		if gone {
			e.end(j, done{err: j.ctx.Err(), stop: -1})
			continue
		}
		j.sampler = sample.New(j.params, j.prompt)
		e.running = append(e.running, j)
		e.counts.running.Store(int64(len(e.running)))
	}
}

// step computes pieces of the prompts that are not complete, the oldest first, and
// one token of every answer that has begun.
func (e *engine) step(ctx context.Context) {
	var feeds []*feed
	left := e.limits.Chunk
	for i, j := range e.running {
		switch {
		case j.ctx.Err() != nil:
			feeds = append(feeds, &feed{job: j, err: j.ctx.Err()})
		case j.fed == len(j.prompt):
			feeds = append(feeds, &feed{job: j, tokens: []int{j.next}})
		case left > 0 && (j.session != nil || e.begin(i)):
			n := min(len(j.prompt)-j.fed, left)
			left -= n
			feeds = append(feeds, &feed{job: j, tokens: j.prompt[j.fed : j.fed+n]})
		}
	}
	e.compute(ctx, feeds)
	ends := e.advanceAll(feeds)
	over := make(map[*job]bool)
	for i, f := range feeds {
		if ends[i] != nil {
			over[f.job] = true
			e.end(f.job, *ends[i])
		}
	}
	if len(over) > 0 {
		e.running = slices.DeleteFunc(e.running, func(j *job) bool { return over[j] })
		e.counts.running.Store(int64(len(e.running)))
	}
}

// feed is what one step computes for one job.
type feed struct {
	job    *job
	tokens []int
	logits []float32 // of the tokens that need them
	err    error
}

// compute runs the tokens of all feeds through the model in one pass, so that
// weights are read once. When that fails, each whose session can be taken back
// gets a pass of its own, so that only those fail that are to blame.
func (e *engine) compute(ctx context.Context, feeds []*feed) {
	feeds = slices.DeleteFunc(slices.Clone(feeds), func(f *feed) bool { return f.err != nil })
	if len(feeds) == 0 {
		return
	}
	before := make([]int, len(feeds))
	for i, f := range feeds {
		before[i] = f.job.session.Len()
	}
	err := e.together(ctx, feeds)
	if err == nil {
		return
	}
	if len(feeds) == 1 {
		feeds[0].err = err
		return
	}
	blamed := false
	for i, f := range feeds {
		f.err = err
		if f.job.session.Truncate(before[i]) {
			f.err = e.together(ctx, []*feed{f})
		}
		blamed = blamed || f.err != nil
	}
	var bug *bugError
	if !blamed && errors.As(err, &bug) { // nobody else tells of it
		e.bug(bug)
	}
}

// together is one pass of several feeds, and their logits.
func (e *engine) together(ctx context.Context, feeds []*feed) error {
	pass := make([]oracle.Feed, len(feeds))
	ids := make([]string, len(feeds))
	for i, f := range feeds {
		pass[i], ids[i] = oracle.Feed{Session: f.job.session, Tokens: f.tokens}, f.job.id
	}
	return guarded(strings.Join(slices.Compact(ids), ", "), func() error {
		hidden, err := e.model.FeedAll(ctx, pass)
		if err != nil {
			return err
		}
		var wanted []float32 // of all feeds, side by side
		rows := make([]int, len(feeds))
		for i, f := range feeds {
			rows[i] = len(f.tokens)
			if f.job.promptTop < 0 {
				rows[i] = 1 // the last token
			}
			wanted = append(wanted, hidden[i][(len(f.tokens)-rows[i])*e.model.Spec.Hidden:]...)
		}
		logits := e.model.Logits(wanted)
		for i, f := range feeds {
			n := rows[i] * e.model.Spec.Vocab
			f.logits, logits = logits[:n:n], logits[n:]
		}
		return nil
	})
}

// guarded turns a panic into a *bugError.
func guarded(id string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &bugError{id: id, value: p, stack: debug.Stack()}
		}
	}()
	return f()
}

// advanceAll takes the results of all feeds, side by side, since a vocabulary is
// long; it returns the ends of the jobs, nil for those that go on.
func (e *engine) advanceAll(feeds []*feed) []*done {
	ends := make([]*done, len(feeds))
	var all sync.WaitGroup
	for i, f := range feeds {
		all.Go(func() {
			err := guarded(f.job.id, func() error {
				ends[i] = e.advance(f)
				return nil
			})
			if err != nil {
				ends[i] = &done{err: err, stop: -1}
			}
		})
	}
	all.Wait()
	return ends
}

// advance takes the result of a feed; it returns the end of the job, or nil. It
// changes nothing but the job.
func (e *engine) advance(f *feed) *done {
	j := f.job
	if f.err != nil {
		return &done{err: f.err, stop: -1}
	}
	vocab := e.model.Spec.Vocab
	last := f.logits[len(f.logits)-vocab:]
	if j.fed < len(j.prompt) {
		if j.promptTop >= 0 {
			e.promptLogprobs(j, f.logits, len(f.tokens))
		}
		j.fed += len(f.tokens)
		e.counts.promptTokens.Add(int64(len(f.tokens)))
		if j.fed < len(j.prompt) {
			return nil
		}
	}
	if j.max == 0 {
		return &done{reason: "length", stop: -1, cached: j.cached}
	}
	id, err := j.sampler.Next(last)
	if err != nil {
		return &done{err: err, stop: -1}
	}
	j.answer = append(j.answer, id)
	j.next = id
	e.counts.answerTokens.Add(1)
	if j.stop[id] && !j.ignore {
		return &done{reason: "stop", stop: id, cached: j.cached}
	}
	t := tokenOf(last, id, j.logprobs)
	j.events.put(event{token: &t})
	if len(j.answer) >= j.max {
		return &done{reason: "length", stop: -1, cached: j.cached}
	}
	return nil
}

// tokenOf is a token with the logprobs that the model itself gives, before bias,
// penalties and temperature, as vLLM tells them.
func tokenOf(logits []float32, id, top int) token {
	t := token{id: id}
	if top < 0 {
		return t
	}
	logprob, likelier, best := eval.Rank(logits, id, top)
	t.logprob, t.rank = logprob, likelier+1
	for _, r := range best {
		t.top = append(t.top, ranked{r.ID, r.Logprob})
	}
	return t
}

// promptLogprobs tells the logprobs of the tokens behind those just fed.
func (e *engine) promptLogprobs(j *job, logits []float32, n int) {
	vocab := e.model.Spec.Vocab
	var list []token
	for i := range n {
		if at := j.fed + i + 1; at < len(j.prompt) {
			list = append(list, tokenOf(logits[i*vocab:][:vocab], j.prompt[at], j.promptTop))
		}
	}
	if len(list) > 0 {
		j.events.put(event{prompt: list})
	}
}

// end tells a job's end and keeps its text.
func (e *engine) end(j *job, d done) {
	var bug *bugError
	if errors.As(d.err, &bug) {
		e.bug(bug)
	}
	if j.session != nil && (d.err == nil || errors.Is(d.err, context.Canceled) && j.session.Len() > 0 && j.ctx.Err() != nil) {
		tokens := append(slices.Clone(j.prompt), j.answer...)
		e.kept = append(e.kept, &text{tokens: tokens[:j.session.Len()], session: j.session})
	}
	j.session = nil
	j.events.put(event{done: &d})
}
