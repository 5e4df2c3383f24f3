package probe

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// exactly is an arithmetic that gives what the tokens of the texts say, changed by
// change: the logprob of the k-th listed token of each.
func exactly(name string, texts []Text, change func(at, k int, logprob float64) float64) Arithmetic {
	a := Arithmetic{Name: name, Sound: true}
	for i := range texts {
		var list []Row
		for at, t := range texts[i].told() {
			r := Row{Own: change(at, 0, t.Logprob.Value)}
			for k, x := range t.Top {
				r.Told, r.Unknown = append(r.Told, change(at, k, x.Logprob.Value)), append(r.Unknown, false)
			}
			list = append(list, r)
		}
		a.Rows = append(a.Rows, list)
	}
	return a
}

// oracleAsked runs the probe against the fake.
func oracleAsked(t *testing.T, f *fake, level Level) *State {
	t.Helper()
	s := &State{Target: &Target{Has: f.has, Context: f.context, TopK: 64}, Level: level}
	calls := 0
	var sent Cost
	for asks := oracleNext(s); len(asks) > 0; asks = oracleNext(s) {
		for _, a := range asks {
			sent.Add(Cost{Requests: 1, AnswerTokens: a.Max, PromptTokens: a.size() / 3, Together: 1})
		}
		s.Rounds = append(s.Rounds, f.send(&calls, asks))
	}
	if most := oracleMost(level); sent.Requests > most.Requests || sent.AnswerTokens > most.AnswerTokens || sent.PromptTokens > most.PromptTokens {
		t.Errorf("level %d: sent %+v, announced %+v", level, sent, most)
	}
	return s
}

func equal(_, _ int, l float64) float64 { return l }

// noisy is what rounding does to a logprob.
func noisy(at, k int, l float64) float64 { return l + 0.01*math.Sin(float64(7*at+k)) }

// other is another model from a token on.
func other(from int) func(at, k int, l float64) float64 {
	return func(at, k int, l float64) float64 {
		if at < from {
			return noisy(at, k, l)
		}
		return -4 + math.Sin(float64(3*at+k))
	}
}

func badLater(at, _ int, l float64) float64 {
	if at < 5 {
		return l
	}
	return math.NaN()
}

func TestOracleVerdicts(t *testing.T) {
	s := oracleAsked(t, newFake(), Default)
	texts := oracleTexts(s)
	if len(s.Rounds) != 3 || len(texts) != 3 || !texts[2].Cached {
		t.Fatalf("%d rounds, %d texts", len(s.Rounds), len(texts))
	}
	fault := func(a Arithmetic, words, cause string) Arithmetic {
		a.Sound, a.Fault, a.Cause = false, words, cause
		return a
	}
	sound := func(change func(at, k int, l float64) float64) []Arithmetic {
		return []Arithmetic{exactly("exact", texts, change), exactly("hf-bf16", texts, func(at, k int, l float64) float64 { return change(at, k, l) + 0.005*float64(at%3) })}
	}
	for _, tc := range []struct {
		name  string
		list  []Arithmetic
		want  Outcome
		text  string
		class []string
	}{
		{"as it should be", sound(equal), Pass, "are those of exact within 0.000", nil},
		{"rounded", sound(noisy), Pass, "are those of", nil},
		{"wrong, and nobody knows why", sound(other(20)), Fail, "exact differs by", nil},
		{"a known fault", append(sound(other(20)), fault(exactly("exact,rope=half", texts, noisy), "half", "numerics-garbage")), Fail, "those of exact,rope=half within", []string{"numerics-garbage"}},
		{"two known faults", append(sound(other(20)), fault(exactly("a", texts, equal), "first", "kv-cache-dtype"), fault(exactly("b", texts, noisy), "second", "numerics-garbage")), Fail,
			"as well possible: second", []string{"kv-cache-dtype", "numerics-garbage"}},
		{"a fault that is not the server's", append(sound(other(20)), fault(exactly("a", texts, other(10)), "first", "kv-cache-dtype")), Fail, "1 arithmetics of known faults do not fit", nil},
		{"a fault that is not alone", append(sound(other(0)), fault(exactly("a", texts, func(at, k int, l float64) float64 { return l - 0.25*float64(at%2) }), "first", "kv-cache-dtype")), Fail, "the nearest is a, which", []string{"kv-cache-dtype"}},
		{"a fault that hardly does anything", append(sound(noisy), fault(exactly("a", texts, equal), "first", "kv-cache-dtype")), Pass, "", nil},
		{"NaN of the engine alone", sound(badLater), Fail, "exact has NaN from token 5 of the prompt", nil},
		{"NaN of the checkpoint", []Arithmetic{fault(exactly("exact", texts, badLater), "itself", "checkpoint-incomplete")}, Fail, "for this checkpoint itself", []string{"checkpoint-incomplete"}},
	} {
		s.Reference = &Reference{Dir: "m", Arithmetics: tc.list}
		v := judgeOracle(s)
		var classes []string
		for _, x := range v.Suspects {
			classes = append(classes, x.Class)
		}
		if v.Outcome != tc.want || !strings.Contains(v.Text, tc.text) || !slices.Equal(classes, tc.class) {
			t.Errorf("%s: %s %q %v, want %s %q %v", tc.name, v.Outcome, v.Text, classes, tc.want, tc.text, tc.class)
		}
		if (v.Outcome == Fail) != slices.Contains(v.Signs, SignOracle) {
			t.Errorf("%s: signs %v", tc.name, v.Signs)
		}
	}
}

// TestOracleOutOfCache: an answer that is right when computed anew, and wrong out of
// the prefix cache.
func TestOracleOutOfCache(t *testing.T) {
	for _, faulty := range []bool{false, true} {
		f := newFake()
		f.has.Echo, f.noise = false, 0
		f.faulty = func(c circumstance) bool { return faulty && c.cached && c.decoded > 3 }
		s := oracleAsked(t, f, Default)
		texts := oracleTexts(s)
		if len(texts) != 3 || !texts[2].Cached || texts[1].Cached {
			t.Fatalf("%d texts", len(texts))
		}
		right := slices.Clone(texts)
		right[2].Answer = texts[1].Answer
		s.Reference = &Reference{Arithmetics: []Arithmetic{exactly("exact", right, equal)}}
		v := judgeOracle(s)
		if !faulty {
			if v.Outcome != Pass {
				t.Errorf("%s %s", v.Outcome, v.Text)
			}
			continue
		}
		if v.Outcome != Fail || !slices.Equal(v.Signs, []Sign{SignPrefix}) || !strings.Contains(v.Text, "out of the prefix cache they differ by") || !strings.Contains(v.Text, "from token 4 of the answer") {
			t.Errorf("%s %v %s", v.Outcome, v.Signs, v.Text)
		}
	}
}

// TestOracleAsksByID: the ids of a prompt are asked for once, and sent in its place.
func TestOracleAsksByID(t *testing.T) {
	f := newFake()
	f.has.IDs, f.has.Tokenize, f.has.TokenPrompts = true, true, true
	s := oracleAsked(t, f, Default)
	var kinds []Kind
	for _, a := range s.answers() {
		kinds = append(kinds, a.Ask.Kind)
	}
	if !slices.Equal(kinds, []Kind{Tokenize, Completion, Tokenize, Completion, Completion}) {
		t.Errorf("asked %v", kinds)
	}
	for _, text := range oracleTexts(s) {
		if len(text.IDs) == 0 || len(text.IDs) != text.Count {
			t.Errorf("%d ids, the server counts %d", len(text.IDs), text.Count)
		}
	}
}

// TestOracleNaN: the server's NaN is named by the arithmetic that has it at the same
// tokens.
func TestOracleNaN(t *testing.T) {
	s := oracleAsked(t, newFake(), Quick)
	texts := oracleTexts(s)
	right := exactly("exact", texts, equal)
	late, early := exactly("late", texts, badLater), exactly("early", texts, func(int, int, float64) float64 { return math.NaN() })
	late.Sound, late.Fault, late.Cause = false, "late", "kv-cache-dtype"
	early.Sound, early.Fault, early.Cause = false, "early", "numerics-nan"
	tokens := s.Rounds[0][0].Answer.Choices[0].Tokens
	from := 5 - len(texts[0].Echoed)
	for i := max(0, from); i < len(tokens); i++ {
		tokens[i].Logprob.Null = true
	}
	for i := 5; i < len(texts[0].Echoed); i++ {
		s.Rounds[0][0].Answer.Prompt[i].Logprob.Null = true
	}
	s.Reference = &Reference{Arithmetics: []Arithmetic{right, early, late}}
	v := judgeOracle(s)
	if v.Outcome != Fail || len(v.Suspects) == 0 || v.Suspects[0].Title != "late" || !slices.Contains(v.Signs, SignNaN) {
		t.Errorf("%s %q %+v %v", v.Outcome, v.Text, v.Suspects, v.Signs)
	}
}

func TestOracleCannotCompare(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*State)
		text   string
	}{
		{"no raw text", func(s *State) { s.Target.Has.Completions = false }, "no raw completions"},
		{"no logprobs", func(s *State) { s.Target.Has.Logprobs = false }, "no logprobs"},
		{"no answer", func(s *State) { s.Rounds = [][]Asked{{{Answer: failure(Reset)}}} }, "came with logprobs: reset"},
		{"nothing computed", func(s *State) { s.Reference = nil }, "nothing was computed"},
		{"no tokenizer", func(s *State) { s.Reference = &Reference{Missing: "no tokenizer"} }, "no tokenizer"},
		{"two tokens", func(s *State) {
			s.Rounds[0][0].Answer.Choices[0].Tokens = s.Rounds[0][0].Answer.Choices[0].Tokens[:2]
			s.Rounds[0][0].Answer.Prompt = nil
			s.Reference = &Reference{Arithmetics: []Arithmetic{exactly("exact", oracleTexts(s), equal)}}
		}, "only 2 tokens"},
	} {
		s := oracleAsked(t, newFake(), Quick)
		tc.change(s)
		if v := judgeOracle(s); v.Outcome != CantTell || !strings.Contains(v.Text, tc.text) {
			t.Errorf("%s: %s %q", tc.name, v.Outcome, v.Text)
		}
	}
}

// TestOracleAsks: within the context, and beyond the limits that are known.
func TestOracleAsks(t *testing.T) {
	for _, level := range []Level{Quick, Default, Thorough} {
		s := oracleAsked(t, newFake(), level)
		if want := []int{1, 3, 4}[level]; len(s.Rounds) != want {
			t.Errorf("level %d: %d rounds", level, len(s.Rounds))
		}
	}
	f := newFake()
	f.context = 200
	s := oracleAsked(t, f, Default)
	if last := s.Rounds[len(s.Rounds)-1][0]; last.Answer.PromptCount+last.Ask.Max > 200 || last.Answer.PromptCount < 150 {
		t.Errorf("a prompt of %d tokens and an answer of %d for a context of 200", last.Answer.PromptCount, last.Ask.Max)
	}
	if n := oracleLength(&State{Target: &Target{TopK: 2048, Window: 1 << 20}}); n != 2048+oracleBeyond {
		t.Errorf("length %d for index_topk 2048", n)
	}
	if n := len(longText(1000, 0.25)); n != 4000 {
		t.Errorf("%d bytes for 1000 tokens of 4 bytes", n)
	}
}
