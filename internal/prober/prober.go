package prober

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"shakedown/internal/finding"
	"shakedown/internal/probe"
)

// Server is a server as the battery needs it; package endpoint is the one that
// speaks HTTP. Send may be called from several goroutines.
type Server interface {
	// Identify reads what the server tells of itself, with few requests that compute
	// nothing.
	Identify(context.Context) (*probe.Target, []finding.SettingMsg, []probe.Exchange, error)
	// Send asks once. What goes wrong is part of the answer.
	Send(context.Context, *probe.Target, probe.Ask) (probe.Answer, probe.Exchange)
}

// Reference is an engine whose arithmetic is known.
type Reference interface {
	// Judge says what it gives for texts that the server answered.
	Judge(context.Context, *probe.Target, []probe.Text) (*probe.Reference, error)
}

// Options say what is probed, how, and within which bounds.
type Options struct {
	Server    Server
	URL       string // as the user wrote it, without credentials
	Level     probe.Level
	Gentle    bool
	Budget    Budget
	Reference Reference // nil for none
	Other     Server    // a second server to compare with, nil for none
	Model     string    // the name to ask for, where the server has several
	Local     *probe.Local
	Expected  probe.Expected
	// Status is told what is under way; nil for nobody.
	Status func(string)
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration)
}

// Budget lowers what a level would send; zero leaves it.
type Budget struct {
	Requests, Tokens int // tokens of prompts and answers, each
	Time             time.Duration
}

// How long a battery may take when the user says nothing. A server of 50 tokens a
// second needs a minute for the default level.
var patience = map[probe.Level]time.Duration{
	probe.Quick: 2 * time.Minute, probe.Default: 5 * time.Minute, probe.Thorough: 30 * time.Minute,
}

// pause is the least time between the requests of a gentle run.
const pause = 500 * time.Millisecond

// LevelName is a level as the output names it.
func LevelName(l probe.Level) string {
	return map[probe.Level]string{probe.Quick: "quick", probe.Default: "default", probe.Thorough: "thorough"}[l]
}

// Run probes a server and emits what it finds. An error means that the server
// could not be asked at all, that ctx ended, or that out failed; what a server
// does wrong is part of the conclusion.
func Run(ctx context.Context, o Options, out finding.Handler) (*probe.Conclusion, error) {
	started := o.Now()
	target, settings, exchanges, err := o.Server.Identify(ctx)
	if err != nil {
		return nil, err
	}
	if o.Model != "" {
		target.Model = o.Model
	}
	target.Learn(o.Local)
	target.Expected = o.Expected
	r := &run{Options: o, out: out, target: target, started: started}
	for _, p := range probe.Battery(o.Level, o.Gentle) {
		if r.has(p.Needs) {
			r.probes = append(r.probes, p)
		}
	}
	identified := len(exchanges)
	if o.Other != nil {
		other, _, more, err := o.Other.Identify(ctx)
		if err != nil {
			return nil, err
		}
		r.other, exchanges = other, append(exchanges, more...)
	}
	r.meter = newMeter(r.bound(identified), started.Add(r.time()))
	r.meter.spent.Requests = identified
	if err := r.announce(settings, exchanges); err != nil {
		return nil, err
	}
	for _, p := range r.probes {
		if err := r.probe(ctx, p); err != nil {
			return nil, err
		}
	}
	return r.conclude()
}

// run is one battery under way.
type run struct {
	Options
	out     finding.Handler
	target  *probe.Target
	other   *probe.Target // of the second server, nil for none
	probes  []probe.Probe
	meter   *meter
	started time.Time
	last    time.Time // when the last request of a gentle run was sent

	exchanges int
	refused   int // connections that were refused since the last answer
	late      int // requests that were not answered in time since the last answer
	earlier   map[string][][]probe.Asked
	floor     probe.Floor
	rate      float64
	results   []probe.Result
}

// has says whether what a probe needs is at hand.
func (r *run) has(n probe.Need) bool {
	return n == probe.NeedsNothing || n == probe.NeedsOracle && r.Reference != nil || n == probe.NeedsAgainst && r.Options.Other != nil || n == probe.NeedsWord && r.Expected != probe.Expected{}
}

func (r *run) time() time.Duration {
	if r.Budget.Time > 0 {
		return r.Budget.Time
	}
	return patience[r.Level]
}

// bound is what the probes may send, with the requests that were needed to know
// the server, lowered by the user's budget.
func (r *run) bound(identified int) probe.Cost {
	c := probe.Bound(r.probes, r.Level)
	for _, p := range r.probes {
		if p.Needs == probe.NeedsAgainst {
			c.Add(p.Most(r.Level))
		}
	}
	c.Requests += identified
	if n := r.Budget.Requests; n > 0 {
		c.Requests = min(c.Requests, max(n, identified))
	}
	if n := r.Budget.Tokens; n > 0 {
		c.PromptTokens, c.AnswerTokens = min(c.PromptTokens, n), min(c.AnswerTokens, n)
	}
	if r.Gentle {
		c.Together = 1
	}
	return c
}

// announce says which server it is and what it will be sent at most.
func (r *run) announce(settings []finding.SettingMsg, exchanges []probe.Exchange) error {
	t, b := r.target, r.meter.bound
	msg := &finding.EndpointMsg{
		URL: r.URL, Engine: t.Engine, EngineVersion: t.Version, Model: t.Model, Root: t.Root, Level: LevelName(r.Level), Gentle: r.Gentle,
		Bound: finding.Traffic{Requests: b.Requests, PromptTokens: b.PromptTokens, AnswerTokens: b.AnswerTokens, Together: b.Together, Seconds: r.time().Seconds()},
		Facts: facts(t), Notes: notes(t),
	}
	if err := r.out.Handle(msg); err != nil {
		return err
	}
	for i := range settings {
		if err := r.out.Handle(&settings[i]); err != nil {
			return err
		}
	}
	for _, x := range exchanges {
		if err := r.record("identify", &x); err != nil {
			return err
		}
	}
	return nil
}

// probe asks one probe's requests, has the answers judged and tells the verdict.
func (r *run) probe(ctx context.Context, p probe.Probe) error {
	if r.Status != nil {
		r.Status(p.Title)
	}
	begun := r.Now()
	s := &probe.State{Target: r.target, Level: r.Level, Gentle: r.Gentle, Earlier: r.earlier, Floor: r.floor, Rate: r.rate}
	first := r.exchanges
	if p.Needs == probe.NeedsAgainst {
		s.Other = &probe.Other{Target: r.other}
	}
	for {
		asks := p.Next(s)
		if len(asks) == 0 {
			break
		}
		round, err := r.round(ctx, r.Server, r.target, p.ID, asks)
		if err != nil {
			return err
		}
		s.Rounds = append(s.Rounds, round)
		if s.Other != nil {
			if round, err = r.round(ctx, r.Options.Other, r.other, p.ID, asks); err != nil {
				return err
			}
			s.Other.Rounds = append(s.Other.Rounds, round)
		}
	}
	var numbers []int
	for n := first + 1; n <= r.exchanges; n++ {
		numbers = append(numbers, n)
	}
	if err := r.refer(ctx, p, s); err != nil {
		return err
	}
	v := p.Judge(s)
	if r.earlier == nil {
		r.earlier = map[string][][]probe.Asked{}
	}
	r.earlier[p.ID] = s.Rounds
	if v.Floor.Known {
		r.floor = v.Floor
	}
	r.results = append(r.results, probe.Result{Probe: p, Verdict: v})
	return r.out.Handle(message(p, &v, numbers, r.Now().Sub(begun)))
}

// round sends requests at the same time; in a gentle run one after the other. The
// error is ctx's, or the handler's.
func (r *run) round(ctx context.Context, to Server, target *probe.Target, id string, asks []probe.Ask) ([]probe.Asked, error) {
	round := make([]probe.Asked, len(asks))
	exchanges := make([]probe.Exchange, len(asks))
	var wait sync.WaitGroup
	limited, cancel := context.WithTimeout(ctx, max(0, r.meter.deadline.Sub(r.Now())))
	defer cancel()
	for i, a := range asks {
		round[i].Ask = a
		reason := r.gone(id)
		if reason == "" {
			reason = r.meter.take(&a, r.Now())
		}
		if reason != "" {
			round[i].Answer = probe.NoAnswer(probe.NotSent, reason)
			continue
		}
		send := func() {
			round[i].Answer, exchanges[i] = to.Send(limited, target, a)
			if !round[i].Answer.OK() && limited.Err() != nil {
				round[i].Answer.Failure, round[i].Answer.Error = probe.NotSent, "the time that was announced was over before the answer came"
			}
		}
		if r.Gentle {
			r.breathe(ctx)
			send()
		} else {
			wait.Go(send)
		}
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	alone := len(asks) == 1
	for i := range round {
		a := &round[i]
		if a.Answer.Failure == probe.NotSent && exchanges[i].Path == "" {
			continue
		}
		r.meter.settle(&a.Ask, &a.Answer)
		switch a.Answer.Failure {
		case probe.Refused:
			r.refused++
		case probe.TimedOut:
			r.late++
		default:
			r.refused, r.late = 0, 0
		}
		if n := a.Answer.AnswerCount; alone && to == r.Server && n >= 16 && a.Answer.Took > 0 {
			r.rate = float64(n) / a.Answer.Took.Seconds()
		}
		if exchanges[i].Path == "" { // not spoken by this engine: nothing went out
			continue
		}
		exchanges[i].Label = a.Ask.Label
		if target == r.other {
			exchanges[i].Label += ", to the second server"
		}
		if err := r.record(id, &exchanges[i]); err != nil {
			return nil, err
		}
		a.Answer.Exchange = r.exchanges
	}
	return round, nil
}

// gone says why a probe is not asked of a server that is not there any more, or
// does not answer. The last probe finds out whether it came back.
func (r *run) gone(id string) string {
	switch {
	case id == probe.AliveID:
		return ""
	case r.refused >= 2:
		return "the server takes no connection any more"
	case r.late >= 3:
		return "three requests in a row were not answered in time (--timeout)"
	}
	return ""
}

// breathe keeps the rate of a gentle run.
func (r *run) breathe(ctx context.Context) {
	if wait := pause - r.Now().Sub(r.last); !r.last.IsZero() && wait > 0 {
		r.Sleep(ctx, wait)
	}
	r.last = r.Now()
}

// record numbers an exchange and tells it.
func (r *run) record(id string, x *probe.Exchange) error {
	r.exchanges++
	x.N, x.Probe = r.exchanges, id
	return r.out.Handle(&finding.ExchangeMsg{
		N: x.N, Probe: id, Label: x.Label, Method: x.Method, Path: x.Path, Request: x.Request, Status: x.Status,
		Answer: x.Answer, Cut: x.Cut, Failure: string(x.Failure), Seconds: x.Took.Seconds(),
	})
}

// refer has the exact engine compute what the probe needs.
func (r *run) refer(ctx context.Context, p probe.Probe, s *probe.State) error {
	if p.Compare == nil || r.Reference == nil {
		return nil
	}
	texts := p.Compare(s)
	if len(texts) == 0 {
		return nil
	}
	if r.Status != nil {
		r.Status("computing what the exact engine says")
	}
	begun := r.Now()
	ref, err := r.Reference.Judge(ctx, r.target, texts)
	if err != nil {
		return err
	}
	r.meter.deadline = r.meter.deadline.Add(r.Now().Sub(begun)) // what is computed here is no traffic
	s.Reference = ref
	return nil
}

// conclude tells what all verdicts say together.
func (r *run) conclude() (*probe.Conclusion, error) {
	c := probe.Conclude(r.target, r.results)
	for i := range c.Findings {
		if err := r.out.Handle(&c.Findings[i]); err != nil {
			return nil, err
		}
	}
	sent := r.meter.spent
	c.Message.Sent = finding.Traffic{
		Requests: sent.Requests, PromptTokens: sent.PromptTokens, AnswerTokens: sent.AnswerTokens,
		Together: r.meter.bound.Together, Seconds: r.Now().Sub(r.started).Seconds(),
	}
	if c.Message.Verdict == probe.Unknown && !r.Now().Before(r.meter.deadline) {
		c.Message.Next = append([]finding.Remedy{r.longer()}, c.Message.Next...)
	}
	return &c, r.out.Handle(&c.Message)
}

// longer offers a run of which the time is not over before its requests are, at
// the pace of this one.
func (r *run) longer() finding.Remedy {
	took, sent, most := r.Now().Sub(r.started), max(1, r.meter.spent.Requests), r.meter.bound.Requests
	need := time.Duration(math.Ceil(took.Minutes()*float64(most)/float64(sent))) * time.Minute
	return finding.Remedy{
		Title: fmt.Sprintf("give it more time: --budget %dm", int(max(need, 2*r.time()).Minutes())),
		Text:  fmt.Sprintf("%d of at most %d requests took all the time that was announced", sent, most),
	}
}
