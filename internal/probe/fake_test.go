package probe

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fake is a server whose model is a hash of the text so far, so that its answers
// are known without a network. Its faults are the circumstances under which the
// hash is taken of something else.
type fake struct {
	has     Features
	noise   float64 // of logits
	sure    float64 // size of logits
	faulty  func(c circumstance) bool
	random  *rand.Rand
	seen    map[string]bool // prompts in the cache
	vocab   int
	tokens  int // seen
	context int
}

// fakePool is the tokens of its KV cache.
const fakePool = 4000

// circumstance is how a token is computed.
type circumstance struct {
	decoded  int  // tokens decoded before it
	position int  // tokens before it
	cached   bool // the prompt came from the cache
	full     bool // more tokens were seen than the cache holds
	batch    int  // requests that run
	left     bool // one of them leaves
	call     int  // number of the request
}

var pieces = regexp.MustCompile(`\s*\S+`)

func (f *fake) logits(history string, c circumstance) []float64 {
	if f.faulty != nil && f.faulty(c) {
		history = "fault" + history
	}
	h := fnv.New64a()
	h.Write([]byte(history))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	x := make([]float64, f.vocab)
	for i := range x {
		x[i] = f.sure*r.NormFloat64() + f.noise*f.random.NormFloat64()
	}
	return x
}

// number is a logprob as it goes over the wire: NaN is null.
func number(x float64) Logprob { return Logprob{Value: x, Null: math.IsNaN(x)} }

func word(i int) string { return fmt.Sprintf(" w%d", i) }

// token chooses one and tells the likeliest.
func (f *fake) token(a *Ask, logits []float64, id int) Token {
	sum := 0.0
	order := make([]int, len(logits))
	for i, x := range logits {
		sum += math.Exp(x)
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(logits[j], logits[i]) })
	if id < 0 {
		id = order[0]
		if a.Sampling == Hot {
			u := f.random.Float64() * sum
			for _, i := range order {
				if u -= math.Exp(logits[i]); u <= 0 {
					id = i
					break
				}
			}
		}
	}
	name := func(i int) int {
		if f.has.IDs {
			return i
		}
		return -1
	}
	t := Token{ID: name(id), Text: word(id), Logprob: number(logits[id] - math.Log(sum))}
	for _, i := range order[:max(0, a.Top)] {
		t.Top = append(t.Top, Ranked{ID: name(i), Text: word(i), Logprob: number(logits[i] - math.Log(sum))})
	}
	return t
}

// hit says whether the beginning of a text is in the cache.
func (f *fake) hit(text string) bool {
	for seen := range f.seen {
		if n := min(len(seen), len(text), 60); n == 60 && seen[:n] == text[:n] {
			return true
		}
	}
	return false
}

// send answers a round.
func (f *fake) send(calls *int, asks []Ask) []Asked {
	var round []Asked
	left := slices.ContainsFunc(asks, func(a Ask) bool { return a.Leave > 0 })
	for _, a := range asks {
		*calls++
		r := Answer{Exchange: *calls, Status: 200, Cached: 0}
		prompt := pieces.FindAllString(a.Prompt, -1)
		if a.Tokens != nil {
			prompt = nil
			for _, id := range a.Tokens {
				prompt = append(prompt, word(id))
			}
		}
		if a.Kind == Tokenize {
			for range prompt {
				r.Tokens = append(r.Tokens, len(r.Tokens)%f.vocab)
			}
			round = append(round, Asked{a, r})
			continue
		}
		text := strings.Join(prompt, "")
		cached := f.hit(text) && !a.NoCache && !a.Echo
		if cached {
			r.Cached = len(prompt) - 1
		}
		f.seen[text] = f.seen[text] || !a.NoCache
		r.PromptCount = len(prompt)
		f.tokens += len(prompt)
		if a.Echo {
			for i, w := range prompt {
				id := 0
				fmt.Sscanf(w, " w%d", &id)
				t := Token{ID: id, Text: w}
				if i > 0 && strings.HasPrefix(w, " w") {
					t = f.token(&a, f.logits(strings.Join(prompt[:i], ""), circumstance{position: i, batch: 1, call: *calls}), id)
				} else if !f.has.IDs {
					t.ID = -1
				}
				r.Prompt = append(r.Prompt, t)
			}
		}
		c := Choice{Told: a.Top >= 0, Finish: "length"}
		for n := range a.Max {
			t := f.token(&a, f.logits(text, circumstance{decoded: n, position: len(prompt) + n, cached: cached, full: f.tokens > fakePool, batch: len(asks), left: left, call: *calls}), -1)
			text += t.Text
			c.Text += t.Text
			if a.Top >= 0 {
				c.Tokens = append(c.Tokens, t)
			}
		}
		r.AnswerCount = a.Max
		r.Choices = []Choice{c}
		round = append(round, Asked{a, r})
	}
	return round
}

func newFake() *fake {
	return &fake{
		has:   Features{Completions: true, Logprobs: true, Top: 20, NoCache: true, Echo: true},
		noise: 0.01, sure: 3, random: rand.New(rand.NewPCG(1, 2)), seen: map[string]bool{}, vocab: 60,
	}
}

// all runs probes as prober does, and gives their verdicts by id.
func (f *fake) all(t *testing.T, level Level, list []Probe) map[string]Verdict {
	t.Helper()
	target := &Target{Engine: "fake", Has: f.has, Context: f.context, Pool: fakePool}
	got := map[string]Verdict{}
	calls := 0
	s := State{Target: target, Level: level, Earlier: map[string][][]Asked{}}
	if level == Quick { // what another probe asks for
		first := s.complete("greedy", capitalText, firstLength)
		s.Earlier["first"] = [][]Asked{f.send(&calls, []Ask{first})}
	}
	for _, p := range list {
		if p.From > level {
			continue
		}
		s.Rounds = nil
		var spent Cost
		for {
			asks := p.Next(&s)
			if len(asks) == 0 {
				break
			}
			round := f.send(&calls, asks)
			spent.Requests += len(round)
			spent.Together = max(spent.Together, len(round))
			for _, a := range round {
				spent.AnswerTokens += max(1, a.Ask.Max)
				spent.PromptTokens += a.Answer.PromptCount
			}
			s.Rounds = append(s.Rounds, round)
		}
		most := p.Most(level)
		if spent.Requests > most.Requests || spent.AnswerTokens > most.AnswerTokens+most.Requests || spent.Together > most.Together || spent.PromptTokens > most.PromptTokens {
			t.Errorf("%s: sent %+v, announced %+v", p.ID, spent, most)
		}
		v := p.Judge(&s)
		s.Earlier[p.ID] = s.Rounds
		if v.Floor.Known {
			s.Floor = v.Floor
		}
		got[p.ID] = v
	}
	return got
}
