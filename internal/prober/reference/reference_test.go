package reference

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/checkpointtest"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/eval"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
	"shakedown/internal/oracle/tokenizer"
	"shakedown/internal/oracle/vocabulary"
	"shakedown/internal/probe"
)

// server answers as a server would, without a network.
type server struct {
	m   *oracle.Model
	tok *tokenizer.Tokenizer
	ids bool // tells token ids
}

func serve(t testing.TB, dir, num string) *server {
	t.Helper()
	src, err := load.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	n, err := numerics.Parse(num)
	if err != nil {
		t.Fatal(err)
	}
	m, err := src.Model(n)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := vocabulary.Tokenizer(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &server{m: m, tok: tok}
}

func (s *server) token(logits []float32, own, top int) probe.Token {
	shown := func(id int) string { return strings.ToValidUTF8(s.tok.Raw(id), "\uFFFD") }
	logprob := func(id int) probe.Logprob {
		l := float64(eval.Logprob(logits, id))
		return probe.Logprob{Value: l, Null: l != l}
	}
	t := probe.Token{ID: -1, Text: shown(own), Logprob: logprob(own)}
	if s.ids {
		t.ID = own
	}
	for _, r := range eval.Top(logits, top) {
		k := probe.Ranked{ID: -1, Text: shown(r.ID), Logprob: logprob(r.ID)}
		if s.ids {
			k.ID = r.ID
		}
		t.Top = append(t.Top, k)
	}
	return t
}

func (s *server) answer(t testing.TB, a probe.Ask) probe.Answer {
	t.Helper()
	ids := s.tok.Encode(a.Prompt, true)
	session := s.m.NewSession(nil)
	hidden, err := session.Feed(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	logits := session.Logits(hidden)
	v := s.m.Spec.Vocab
	out := probe.Answer{PromptCount: len(ids), AnswerCount: a.Max, Exchange: 1}
	if a.Echo {
		out.Prompt = []probe.Token{{ID: -1, Text: s.tok.Raw(ids[0]), Logprob: probe.Logprob{Null: true}}}
		for i := 1; i < len(ids); i++ {
			out.Prompt = append(out.Prompt, s.token(logits[(i-1)*v:][:v], ids[i], a.Top))
		}
	}
	last := logits[(len(ids)-1)*v:]
	c := probe.Choice{Told: true, Finish: "length"}
	for range a.Max {
		id := eval.Top(last, 1)[0].ID
		c.Tokens = append(c.Tokens, s.token(last, id, a.Top))
		c.Text += s.tok.Raw(id)
		if hidden, err = session.Feed(t.Context(), []int{id}); err != nil {
			t.Fatal(err)
		}
		last = session.Logits(hidden)
	}
	out.Choices = []probe.Choice{c}
	return out
}

// ask runs the probe against a server.
func ask(t testing.TB, s *server, target *probe.Target, level probe.Level) (probe.Probe, *probe.State) {
	t.Helper()
	for _, p := range probe.Battery(level, false) {
		if p.ID != "oracle" {
			continue
		}
		state := &probe.State{Target: target, Level: level}
		for asks := p.Next(state); len(asks) > 0; asks = p.Next(state) {
			var round []probe.Asked
			for _, a := range asks {
				round = append(round, probe.Asked{Ask: a, Answer: s.answer(t, a)})
			}
			state.Rounds = append(state.Rounds, round)
		}
		return p, state
	}
	t.Fatal("the battery has no probe of the oracle")
	panic("unreachable")
}

// judge is the verdict on a server that computes with num.
func judge(t testing.TB, dir, num string, target *probe.Target, level probe.Level) (probe.Verdict, *probe.Reference) {
	t.Helper()
	o, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	s := serve(t, dir, num)
	s.ids = target.Has.IDs
	p, state := ask(t, s, target, level)
	if state.Reference, err = o.Judge(t.Context(), target, p.Compare(state)); err != nil {
		t.Fatal(err)
	}
	return p.Judge(state), state.Reference
}

func write(t testing.TB, config string, opt oracletest.Options) string {
	t.Helper()
	files, err := oracletest.Served(config, opt)
	if err != nil {
		t.Fatal(err)
	}
	return checkpointtest.Folder(t, files)
}

func target() *probe.Target {
	return &probe.Target{Context: 512, Has: probe.Features{Completions: true, Logprobs: true, Top: 5, Echo: true}}
}

// TestFaults: every fault of the public record is named as itself, with the class of
// its cause.
func TestFaults(t *testing.T) {
	classes := map[string]string{
		"scales packed as powers of two":        "numerics-nan",
		"656-byte records read as 576":          "kv-cache-dtype",
		"a tile of zeros in the record":         "kv-cache-dtype",
		"stale page of the KV cache":            "numerics-garbage",
		"missing input_scale":                   "checkpoint-incomplete",
		"float16 overflow":                      "numerics-nan",
		"gate and up of experts swapped":        "numerics-garbage",
		"rotation of halves instead of pairs":   "numerics-garbage",
		"indexer rotates halves":                "numerics-garbage",
		"shared expert counted as a routed one": "numerics-garbage",
		"uninitialised shard":                   "checkpoint-incomplete",
	}
	for _, f := range oracletest.Faults {
		if f.Hit > 0 {
			continue // an answer that is computed anew has nothing of it
		}
		v, ref := judge(t, write(t, f.Config, f.Options), f.Faulty, target(), probe.Quick)
		if v.Outcome != probe.Fail || len(v.Suspects) == 0 || v.Suspects[0].Class != classes[f.Name] {
			t.Errorf("%s: %s %s %+v, want the class %q (%d arithmetics)", f.Name, v.Outcome, v.Text, v.Suspects, classes[f.Name], len(ref.Arithmetics))
		}
		change := strings.TrimPrefix(f.Faulty, f.Healthy)
		if !strings.Contains(v.Text, change) && !strings.Contains(v.Text, f.Faulty) {
			t.Errorf("%s: %q does not name %q", f.Name, v.Text, change)
		}
		if !slices.Contains(v.Signs, probe.SignOracle) || len(v.Evidence) == 0 || v.Threshold == "" {
			t.Errorf("%s: signs %v, evidence %v, threshold %q", f.Name, v.Signs, v.Evidence, v.Threshold)
		}
	}
}

// TestHealthy: no rounding of a right server is a fault.
func TestHealthy(t *testing.T) {
	names := numerics.Names()
	i := 0
	for _, family := range slices.Sorted(maps.Keys(oracletest.Configs)) {
		dir := write(t, oracletest.Configs[family], oracletest.Options{})
		for range 2 {
			num := names[i%len(names)]
			i++
			v, ref := judge(t, dir, num, target(), probe.Quick)
			if v.Outcome != probe.Pass || len(v.Signs) > 0 {
				t.Errorf("%s with %s: %s %s (%s; %d arithmetics)", family, num, v.Outcome, v.Text, v.Threshold, len(ref.Arithmetics))
			}
		}
	}
}

// TestOtherModel: other weights of the same shape fail, without a fault being
// blamed; another vocabulary is no failure.
func TestOtherModel(t *testing.T) {
	config := oracletest.Configs["qwen3"]
	dir, other := write(t, config, oracletest.Options{}), write(t, config, oracletest.Options{Seed: 5})
	o, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	p, s := ask(t, serve(t, other, "exact"), target(), probe.Quick)
	if s.Reference, err = o.Judge(t.Context(), s.Target, p.Compare(s)); err != nil {
		t.Fatal(err)
	}
	if v := p.Judge(s); v.Outcome != probe.Fail || len(v.Suspects) > 0 || !strings.Contains(v.Text, "exact differs by") {
		t.Errorf("%s %s %+v", v.Outcome, v.Text, v.Suspects)
	}
	s.Rounds[0][0].Answer.PromptCount++
	if s.Reference, err = o.Judge(t.Context(), s.Target, p.Compare(s)); err != nil {
		t.Fatal(err)
	}
	if v := p.Judge(s); v.Outcome != probe.CantTell || !strings.Contains(v.Text, "is it the same model?") {
		t.Errorf("%s %s", v.Outcome, v.Text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Rounds[0][0].Answer.PromptCount--
	if _, err := o.Judge(ctx, s.Target, p.Compare(s)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a search that was interrupted", err)
	}
}

// TestWithoutEcho: answers alone, with token ids.
func TestWithoutEcho(t *testing.T) {
	dir := write(t, oracletest.Configs["llama"], oracletest.Options{})
	tg := target()
	tg.Has.Echo, tg.Has.IDs = false, true
	for num, want := range map[string]probe.Outcome{"exact": probe.Pass, "exact,rope=interleave": probe.Fail} {
		if v, _ := judge(t, dir, num, tg, probe.Default); v.Outcome != want {
			t.Errorf("%s: %s %s", num, v.Outcome, v.Text)
		}
	}
}
