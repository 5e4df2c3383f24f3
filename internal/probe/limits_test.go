package probe

import (
	"math"
	"strings"
	"testing"
	"time"
)

// reader is a server that reads prompts as far as it can.
type reader struct {
	perToken  int    // bytes
	forgets   int    // tokens from which on nothing of a prompt is known; 0: never
	reach     int    // tokens back that the model can look; 0: all
	cuts      int    // tokens that are kept of a prompt, from its end; 0: all
	silent    bool   // what was cut is counted all the same
	limit     int    // tokens that are refused; 0: none
	over      Answer // the answer to a prompt that is longer
	undecided bool
}

func (r reader) reply(a Ask) Answer {
	text := a.Prompt + content(&a)
	if !strings.Contains(text, "Words to remember") {
		got := knows(0.8, 0.1, fact, series, copied)(a)
		if a.Kind == Completion || a.Kind == Chat {
			got.PromptCount = len(text) / r.perToken
		}
		return got
	}
	tokens := len(text) / r.perToken
	if r.limit > 0 && tokens > r.limit {
		return r.over
	}
	seen := text
	if r.cuts > 0 && tokens > r.cuts {
		seen = text[len(text)-r.cuts*r.perToken:]
	}
	count := len(seen) / r.perToken
	if r.silent {
		count = tokens
	}
	if r.reach > 0 && tokens > r.reach {
		seen = text[len(text)-r.reach*r.perToken:]
	}
	if r.forgets > 0 && tokens > r.forgets {
		seen = ""
	}
	last := text[strings.LastIndex(text, "remember: ")+len("remember: "):]
	got := answer("zebra x", math.Log(0.4))
	for _, h := range hidden {
		if strings.HasPrefix(last, h.cue) && strings.Contains(seen, h.cue+" "+h.word) && !r.undecided {
			got = answer(h.word+" .", math.Log(0.6))
		}
	}
	got.PromptCount = count
	return got
}

var tooMany = status(400, "This model's maximum context length is 2048 tokens. However, your prompt has 2300.")

func TestLong(t *testing.T) {
	t.Parallel()
	with := func(change func(*Target)) *Target { x := all(); change(x); return x }
	topk := with(func(x *Target) { x.TopK = 2048 })
	for _, c := range []struct {
		name   string
		target *Target
		level  Level
		server reader
		want   Outcome
		signs  []Sign
		detail string
	}{
		{"sound", all(), Default, reader{perToken: 5}, Pass, nil, ""},
		{"sound, thorough", topk, Thorough, reader{perToken: 5}, Pass, nil, ""},
		{"sound, a token per byte", all(), Default, reader{perToken: 1}, Pass, nil, ""},
		{"sound, context of 2048", with(func(x *Target) { x.Context = 2048 }), Default, reader{perToken: 5, limit: 2048, over: tooMany}, Pass, nil, ""},
		{"sound, says 8192 and holds 4096", with(func(x *Target) { x.Pool = 4096 }), Thorough, reader{perToken: 5, limit: 4096, over: tooMany}, Pass, nil, ""},
		{"sound, chat only", with(func(x *Target) { x.Has.Completions = false }), Default, reader{perToken: 5}, Pass, nil, ""},
		{"context of 512", with(func(x *Target) { x.Context = 512 }), Default, reader{perToken: 5, limit: 512, over: tooMany}, CantTell, nil, ""},
		{"cannot copy at all", all(), Default, reader{perToken: 5, undecided: true}, CantTell, nil, ""},
		{"a recurrent model that reaches 1500", all(), Default, reader{perToken: 5, reach: 1500}, CantTell, nil, ""},
		{"a sliding window", with(func(x *Target) { x.Window = 1024 }), Default, reader{perToken: 5, reach: 1024}, CantTell, nil, ""},
		{"nothing is known of a long prompt", all(), Default, reader{perToken: 5, forgets: 2000}, Fail, []Sign{SignLong}, "tokens"},
		{"nothing is known of a long prompt, thorough", topk, Thorough, reader{perToken: 5, forgets: 2048}, Fail, []Sign{SignLong}, "tokens"},
		{"the beginning is lost behind index_topk", topk, Default, reader{perToken: 5, reach: 2048}, Fail, []Sign{SignLong}, "index_topk"},
		{"cut, and counted so", all(), Default, reader{perToken: 5, cuts: 1024}, Fail, []Sign{SignTruncated}, ""},
		{"cut, and counted whole", all(), Default, reader{perToken: 5, cuts: 1024, silent: true}, CantTell, nil, ""},
		{"refused within what it claims", all(), Default, reader{perToken: 5, limit: 2048, over: tooMany}, Fail, []Sign{SignCapped}, ""},
		{"refused when short", all(), Default, reader{perToken: 5, limit: 200, over: tooMany}, Fail, []Sign{SignCapped}, ""},
		{"refused, it claims nothing", with(func(x *Target) { x.Context = 0 }), Default, reader{perToken: 5, limit: 2048, over: tooMany}, CantTell, nil, ""},
		{"refused for another reason", all(), Default, reader{perToken: 5, limit: 2048, over: status(400, "no")}, CantTell, nil, ""},
		{"an error of the server", all(), Default, reader{perToken: 5, limit: 2048, over: status(500, "boom")}, Fail, []Sign{SignLong, SignError}, ""},
		{"too slow", all(), Default, reader{perToken: 5, limit: 2000, over: failure(TimedOut)}, CantTell, nil, ""},
		{"not sent", all(), Default, reader{perToken: 5, limit: 1, over: failure(NotSent)}, CantTell, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, s := talk{t: t, target: c.target, level: c.level, reply: c.server.reply}.run("long")
			check(t, v, c.want, c.signs...)
			if !strings.Contains(v.Detail, c.detail) {
				t.Errorf("detail %q", v.Detail)
			}
			if c.name == "sound" && (len(s.Rounds) != 2 || s.Rounds[1][0].Answer.PromptCount < 2048) {
				t.Errorf("%d requests, the long one of %d tokens", len(s.Rounds), s.Rounds[1][0].Answer.PromptCount)
			}
		})
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	with := func(change func(*Target)) *Target { x := all(); x.Sources = map[string]string{}; change(x); return x }
	sound := reader{perToken: 5, limit: 2048, over: tooMany}
	for _, c := range []struct {
		name   string
		target *Target
		server reader
		want   Outcome
		signs  []Sign
		says   string
	}{
		{"whole", all(), reader{perToken: 5}, Pass, nil, "8192"},
		{"not told", with(func(x *Target) { x.Context = 0 }), reader{perToken: 5}, CantTell, nil, ""},
		{"vLLM with --max-model-len 2048", with(func(x *Target) { x.Context, x.Trained = 2048, 8192 }), sound, Pass, nil, "of 8192"},
		{"llama-server -c 4096", with(func(x *Target) { x.Engine, x.Context, x.Trained, x.Running = "llamacpp", 1024, 8192, 4 }), reader{perToken: 5, limit: 1024, over: tooMany}, Pass, nil, "4 slots"},
		{"SGLang --max-total-tokens 4096", with(func(x *Target) { x.Pool = 4096 }), reader{perToken: 5}, Pass, nil, "says 8192, and its KV cache holds 4096"},
		{"as expected", with(func(x *Target) { x.Expected.Context = 8192 }), reader{perToken: 5}, Pass, nil, ""},
		{"less than expected", with(func(x *Target) { x.Expected.Context = 32768 }), reader{perToken: 5}, Fail, []Sign{SignCapped}, "32768"},
		{"the cache holds less than expected", with(func(x *Target) { x.Expected.Context, x.Pool = 8192, 4096 }), reader{perToken: 5}, Fail, []Sign{SignCapped}, "4096"},
		{"tiny beside the model's own", with(func(x *Target) { x.Context, x.Local = 512, &Local{Dir: "m", Context: 8192} }), reader{perToken: 5, limit: 512, over: tooMany}, Fail, []Sign{SignCapped}, "512"},
		{"tiny, and expected so", with(func(x *Target) {
			x.Context, x.Expected.Context, x.Local = 512, 512, &Local{Dir: "m", Context: 8192}
		}), reader{perToken: 5, limit: 512, over: tooMany}, Pass, nil, "512"},
		{"small, as the model is", with(func(x *Target) { x.Context, x.Local = 512, &Local{Dir: "m", Context: 2048} }), reader{perToken: 5, limit: 512, over: tooMany}, Pass, nil, "512"},
		{"limited by a user", with(func(x *Target) { x.Context, x.Local = 2048, &Local{Dir: "m", Context: 131072} }), sound, Pass, nil, "refused"},
		{"more than it was made for", with(func(x *Target) { x.Trained = 2048 }), reader{perToken: 5}, Pass, nil, "more than"},
		{"what does not fit is cut", with(func(x *Target) { x.Context = 2048 }), reader{perToken: 5, cuts: 2047}, Fail, []Sign{SignTruncated}, "silence"},
		{"what does not fit is answered", with(func(x *Target) { x.Context = 2048 }), reader{perToken: 5}, CantTell, nil, ""},
		{"what does not fit ends the connection", with(func(x *Target) { x.Context = 2048 }), reader{perToken: 5, limit: 2048, over: failure(Reset)}, Fail, []Sign{SignError}, ""},
		{"what does not fit is an error", with(func(x *Target) { x.Context = 2048 }), reader{perToken: 5, limit: 2048, over: status(500, "")}, CantTell, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, _ := talk{t: t, target: c.target, level: Default, reply: c.server.reply}.run("context")
			check(t, v, c.want, c.signs...)
			if !strings.Contains(v.Text, c.says) {
				t.Errorf("%q does not say %q", v.Text, c.says)
			}
		})
	}
}

// The same text is made everywhere, and every hidden line stands in it.
func TestHaystack(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 400, 2000, 10000} {
		for w, h := range hidden {
			text := haystack(n, w)
			if !strings.HasSuffix(text, "Words to remember: "+h.cue) || strings.Count(text, h.word) != 1 {
				t.Errorf("%d bytes: %q", n, clip(text, 200))
			}
			if n >= 400 && (len(text) < n-60 || len(text) > n+200) {
				t.Errorf("%d bytes wanted, %d made", n, len(text))
			}
		}
	}
}

// A slow server is not kept busy for minutes.
func TestLongSlow(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]int{time.Minute: 1, 10 * time.Second: 2, time.Second: 2} {
		s := &State{Target: all(), Earlier: map[string][][]Asked{"known": {{{Ask{Kind: Completion, Prompt: strings.Repeat("x", 100)}, Answer{PromptCount: 20}}}}}}
		for range 5 {
			asks := longNext(s)
			if asks == nil {
				break
			}
			a := reader{perToken: 5}.reply(asks[0])
			a.Took = took
			s.Rounds = append(s.Rounds, []Asked{{asks[0], a}})
		}
		v := longJudge(s)
		if len(s.Rounds) != want || (v.Outcome == Pass) != (want == 2) {
			t.Errorf("%s: %d requests; %s: %s", took, len(s.Rounds), v.Outcome, v.Text)
		}
		if want == 2 && (s.Rounds[1][0].Answer.PromptCount > 2000) != (took == time.Second) {
			t.Errorf("%s: the long prompt has %d tokens", took, s.Rounds[1][0].Answer.PromptCount)
		}
	}
}

// TestContextOfTheDead: a connection that is refused is no refusal of a prompt.
func TestContextOfTheDead(t *testing.T) {
	t.Parallel()
	v, _ := talk{t: t, target: all(), level: Default, reply: func(Ask) Answer { return failure(Refused) }}.run("context")
	check(t, v, CantTell)
}
