package probe

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

// The probes of this file look for the marks of broken arithmetic, which need no
// knowledge of the model, and for a server whose own words do not hold.
//
// What NaN looks like from outside was measured on real servers with one NaN in
// their weights: llama.cpp answers 200 with one printable token again and again and
// logprobs of null; vLLM answers 200 with counted tokens and no text, and 400 "Out
// of range float values are not JSON compliant" as soon as logprobs are asked for;
// SGLang answers token 0 with logprobs of null. All of them stay healthy, and none
// logs a line. Argmax of NaN is some token, so greedy requests end well where the
// sampler's assertion ends the server.
const (
	// sure is a probability that leaves no doubt. A collapsed model has it at every
	// token, a text in a loop only after some turns.
	sure = 0.99
	// loop is how many times one token has to come, as the whole answer, to be more
	// than a stutter.
	loop = 8
	// flatPart is the part of -ln(vocabulary) below which the likeliest token of a flat
	// distribution lies. Dummy weights (vLLM --load-format dummy, vocabulary 49,152)
	// gave -10.8 everywhere, which is all of it; weights drawn with a standard
	// deviation of 0.02, as before a training, -8.7 or less (0.8 of it). A trained
	// model's greedy tokens lie above -4.
	flatPart = 0.7
	// floorLogprob is what engines write for minus infinity (vLLM: -9999.0).
	floorLogprob = -9000
	// noNumbers is why other probes have nothing to compare in a server that tells NaN.
	noNumbers = "logprobs are no numbers; see the probe \"first\""
)

// capitalText and capitalChat ask the same of the raw model and through the chat
// template. What the answers say is judged by the probe "known".
const (
	capitalText = "The capital of France is"
	capitalChat = "What is the capital of France? Answer in one short sentence."
	secondText  = "On Monday we bake bread, on Tuesday we mend the nets, and on Wednesday"
	secondChat  = "Name three colours that a flower can have."
)

var signatureProbes = []Probe{
	{
		ID: "stale", Title: "it is the server that was expected", From: Quick, Gentle: true, Needs: NeedsWord,
		Why:    "After a failed restart an older server still holds the port and answers.",
		Source: "leftover servers on the port: reports of SGLang and vLLM; the founding incident's pkill between launches",
		Most:   func(Level) Cost { return Cost{} },
		Next:   func(*State) []Ask { return nil },
		Judge:  staleJudge,
	},
	{
		ID: "health", Title: "its health and counters can be read", From: Default, Gentle: true,
		Why:    "A first reading, which the last one is held against.",
		Source: "vLLM and SGLang: /health answers 200 before and after the engine behind it died",
		Most:   func(Level) Cost { return Cost{Requests: 2, Together: 1} },
		Next: func(s *State) []Ask {
			return watchNext(s, len(s.Rounds))
		},
		Judge: healthJudge,
	},
	{
		ID: "first", Title: "greedy, sampled and plain requests are answered without a mark of broken arithmetic", From: Quick, Gentle: true, Essential: true,
		Why:    "Greedy decoding hides NaN, which ends the server at the first sampled token; the model's generation_config.json can make the request without sampling fields fail alone.",
		Source: "the founding incident: warm-up with temperature 0 passed, first sampled request died; vLLM with temperature 6 in generation_config.json",
		Most: func(l Level) Cost {
			n := 7
			if l == Quick {
				n = 3
			}
			return Cost{Requests: n, PromptTokens: n * len(secondText), AnswerTokens: 2*firstLength + (n-2)*hotLength, Together: 1}
		},
		Next: firstNext, Judge: firstJudge,
	},
	{
		ID: "decided", Title: "the model prefers some tokens to others", From: Quick, Gentle: true,
		Why:    "Weights that were never loaded (dummy or uninitialised) make every token as likely as every other: no error, no NaN, random text.",
		Source: "vLLM --load-format dummy: every logprob is -10.8 = -ln(49152)",
		Most:   func(Level) Cost { return Cost{} },
		Next:   func(*State) []Ask { return nil },
		Judge:  decidedJudge,
	},
}

// AliveID is the probe that finds out whether the server is still there.
const AliveID = "alive"

// endProbes come last.
var endProbes = []Probe{
	{
		ID: AliveID, Title: "the server lives at the end, and nothing broke on the way", From: Default, Gentle: true, Essential: true,
		Why:    "A server can vanish behind its last answer, hang with a good health, or spoil one answer among many.",
		Source: "the founding incident's attempt 3: an empty answer, then connection refused; SGLang and vLLM with a dead scheduler and health 200",
		Most: func(Level) Cost {
			return Cost{Requests: 4, PromptTokens: 2 * len(capitalText), AnswerTokens: 2, Together: 1}
		},
		Next: aliveNext, Judge: aliveJudge,
	},
}

// Lengths of the answers in tokens.
const (
	firstLength = 24
	hotLength   = 8
)

// ask is a request of that kind, or of the one that the server knows.
func (s *State) ask(kind Kind, label, text, chat string, how Sampling, max int) Ask {
	a := Ask{Label: label, Sampling: how, Max: max, Top: s.top()}
	if kind == Chat && s.Target.Has.Chat || !s.Target.Has.Completions {
		a.Kind, a.Messages = Chat, []Message{{Role: "user", Content: chat}}
	} else {
		a.Kind, a.Prompt = Completion, text
	}
	return a
}

// firstNext asks greedily first, so that a server which dies of sampling has
// answered before. Logprobs are asked for throughout: they make NaN visible.
func firstNext(s *State) []Ask {
	n := len(s.Rounds)
	if s.Level == Quick {
		switch n {
		case 0:
			return []Ask{s.ask(Completion, "greedy", capitalText, capitalChat, Greedy, s.Afford(firstLength))}
		case 1:
			return []Ask{s.ask(Chat, "temperature 1", secondText, secondChat, Hot, hotLength)}
		case 2:
			return []Ask{s.ask(Chat, "no sampling fields", secondText, secondChat, Plain, hotLength)}
		}
		return nil
	}
	switch n {
	case 0:
		return []Ask{s.ask(Completion, "greedy", capitalText, capitalChat, Greedy, s.Afford(firstLength))}
	case 1:
		if s.Target.Has.Chat && s.Target.Has.Completions {
			return []Ask{s.ask(Chat, "greedy", "", capitalChat, Greedy, s.Afford(firstLength))}
		}
		return []Ask{s.ask(Completion, "greedy, another prompt", secondText, secondChat, Greedy, s.Afford(firstLength))}
	case 2:
		return []Ask{s.ask(Completion, "temperature 1", capitalText, capitalChat, Hot, hotLength)}
	case 3:
		return []Ask{s.ask(Chat, "temperature 1", secondText, secondChat, Hot, hotLength)}
	case 4:
		return []Ask{s.ask(Completion, "no sampling fields", capitalText, capitalChat, Plain, hotLength)}
	case 5:
		return []Ask{s.ask(Chat, "no sampling fields", secondText, secondChat, Plain, hotLength)}
	case 6:
		if a := s.answers(); slices.ContainsFunc(a, func(a Asked) bool { return broke(&a.Answer) }) {
			return []Ask{s.ask(Completion, "greedy again: does it live?", capitalText, capitalChat, Greedy, 1)}
		}
	}
	return nil
}

// broke says whether a request ended in a way that can be the server's end.
func broke(a *Answer) bool {
	return a.Failure == Refused || a.Failure == Reset || a.Failure == TimedOut || a.Failure == Status && a.Status >= 500
}

// saysNaN finds the engines' own words for numbers that are none.
func saysNaN(a *Answer) bool {
	text := strings.ToLower(a.Error + " " + a.Odd)
	for _, c := range a.Choices {
		text += " " + strings.ToLower(c.Finish)
	}
	for _, words := range []string{"out of range float values", "nan happened", "nan in the logits", "contains either `inf`", "contains either inf", "nan detected"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// nanAt is the first token of an answer whose own logprob is no number; -1 for none.
// The end token alone may come without.
func nanAt(c *Choice) int {
	at := slices.IndexFunc(c.Tokens, func(t Token) bool { return c.Told && t.Logprob.Null })
	if at > 0 && at == len(c.Tokens)-1 && c.Finish == "stop" {
		return -1
	}
	return at
}

// nan is the verdict on an answer that shows NaN; ok is false when it shows none.
func nan(a *Asked) (v Verdict, ok bool) {
	if saysNaN(&a.Answer) {
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignNaN},
			Text:     fmt.Sprintf("the server's own words for NaN: %s", failed(&a.Answer)),
			Evidence: []finding.Evidence{request(a.Answer, strings.TrimSpace(a.Answer.Error+" "+a.Answer.Odd), "asked for logprobs, it could not write them: they are no numbers")},
		}, true
	}
	for i := range a.Answer.Choices {
		c := &a.Answer.Choices[i]
		at := nanAt(c)
		if at < 0 {
			continue
		}
		null := 0
		for _, t := range c.Tokens {
			if t.Logprob.Null {
				null++
			}
		}
		v = Verdict{
			Outcome: Fail, Signs: []Sign{SignNaN},
			Text:     fmt.Sprintf("%d of %d logprobs are no numbers, from token %d on", null, len(c.Tokens), at+1),
			Evidence: []finding.Evidence{request(a.Answer, c.Text, fmt.Sprintf("the logprob of token %d is null", at+1))},
		}
		if at > 0 {
			v.Signs = []Sign{SignNaNLater}
			v.Detail = fmt.Sprintf("from token %d on", at+1)
		}
		return v, true
	}
	return v, false
}

func firstJudge(s *State) Verdict {
	all := s.answers()
	if s.Level > Quick { // the probe "chat" is not asked there
		all = withoutRefusedChats(all)
	}
	if len(all) == 0 {
		return cantTell("the server neither chats nor continues text", "")
	}
	for i := range all {
		if v, ok := nan(&all[i]); ok {
			if sampled(all, i) {
				v.Signs = append(v.Signs, SignNaNSampled)
			} else if at := slices.IndexFunc(all, ended); at >= 0 {
				v.Signs = append(v.Signs, SignNaNSampled)
				v.Text += "; sampled, the request ends in " + failed(&all[at].Answer)
				v.Evidence = append(v.Evidence, request(all[at].Answer, all[at].Answer.Error, all[at].Ask.Label))
			}
			return v
		}
	}
	for _, mark := range []func([]Asked) (Verdict, bool){failedSampling, emptied, collapse, special, untrue} {
		if v, ok := mark(all); ok {
			return v
		}
	}
	good := 0
	var bad *Asked
	for i := range all {
		if all[i].Answer.OK() {
			good++
		} else {
			bad = &all[i]
		}
	}
	if good == 0 && !slices.ContainsFunc(all, func(a Asked) bool { return a.Answer.Failure != NotJSON }) {
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignError},
			Text:     fmt.Sprintf("every request is answered with HTTP %d and something that is no answer: %s", bad.Answer.Status, clip(bad.Answer.Error, 120)),
			Evidence: []finding.Evidence{request(bad.Answer, bad.Answer.Error, bad.Ask.Label)},
		}
	}
	if bad != nil {
		return cantTell(fmt.Sprintf("%d of %d requests came to nothing: %s", len(all)-good, len(all), failed(&bad.Answer)), "", request(bad.Answer, bad.Answer.Error, bad.Ask.Label))
	}
	v := Verdict{Outcome: Pass, Text: fmt.Sprintf("%d answers, greedy, sampled and plain, show no NaN, no collapse and no empty text", good)}
	if !all[0].Answer.told() {
		v.Text = fmt.Sprintf("%d answers, greedy, sampled and plain, show no collapse and no empty text; logprobs were not told", good)
	}
	return v
}

// withoutRefusedChats leaves out chats when every one of them was refused and raw
// text is answered: why is judged by the probe "chat".
func withoutRefusedChats(all []Asked) []Asked {
	raw := false
	for i := range all {
		a := &all[i]
		switch {
		case a.Ask.Kind == Chat && (a.Answer.Failure != Status || a.Answer.Status < 400 || a.Answer.Status >= 500 || saysNaN(&a.Answer)):
			return all
		case a.Ask.Kind == Completion && a.Answer.OK():
			raw = true
		}
	}
	if !raw {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(a Asked) bool { return a.Ask.Kind == Chat })
}

// sampled says whether the answers before the i-th of all came, were greedy and
// showed no NaN.
func sampled(all []Asked, i int) bool {
	if all[i].Ask.Sampling == Greedy {
		return false
	}
	return slices.ContainsFunc(all[:i], func(a Asked) bool { return a.Ask.Sampling == Greedy && a.Answer.OK() })
}

// ended says whether a sampled request failed by the server's doing.
func ended(a Asked) bool { return a.Ask.Sampling != Greedy && serverSide(&a.Answer) }

// told says whether logprobs were part of the answer.
func (a *Answer) told() bool {
	return slices.ContainsFunc(a.Choices, func(c Choice) bool { return c.Told })
}

// failedSampling judges requests that came to nothing by the way they sampled.
func failedSampling(all []Asked) (v Verdict, ok bool) {
	var greedy, hot, plain, after *Asked // the first failure of each; after: of what followed
	good := map[Sampling]int{}
	for i := range all {
		a := &all[i]
		if a.Answer.OK() {
			good[a.Ask.Sampling]++
			continue
		}
		which := map[Sampling]**Asked{Greedy: &greedy, Hot: &hot, Plain: &plain}[a.Ask.Sampling]
		if *which == nil {
			*which = a
		}
		if a.Answer.Failure == Refused {
			after = a
		}
	}
	first := hot
	if hot == nil || plain != nil && plain.Answer.Exchange < hot.Answer.Exchange {
		first = plain
	}
	dead := func(v *Verdict) {
		if after == nil {
			return
		}
		v.Signs = append(v.Signs, SignDead)
		if after != first {
			v.Text += fmt.Sprintf("; then %s", failed(&after.Answer))
			v.Evidence = append(v.Evidence, request(after.Answer, after.Answer.Error, after.Ask.Label))
		}
	}
	switch {
	case good[Greedy] > 0 && first != nil && serverSide(&first.Answer) && good[Hot] == 0:
		v = Verdict{
			Outcome: Fail, Signs: []Sign{SignNaNSampled},
			Text: fmt.Sprintf("greedy requests are answered, the first sampled one is not: %s", failed(&first.Answer)),
		}
		if first.Ask.Sampling == Plain && hot == nil {
			v.Signs = []Sign{SignPlainFails}
			v.Text = fmt.Sprintf("requests with a temperature are answered, one without sampling fields is not: %s", failed(&first.Answer))
		}
		v.Evidence = []finding.Evidence{request(all[0].Answer, textOf(&all[0].Answer), "greedy"), request(first.Answer, first.Answer.Error, first.Ask.Label)}
		dead(&v)
		return v, true
	case after == nil && plain != nil && plain.Answer.Failure == Status && good[Greedy] > 0 && good[Hot] > 0 && good[Plain] == 0 && plain.Answer.Status != 429 && plain.Answer.Status != 503:
		v = Verdict{
			Outcome: Fail, Signs: []Sign{SignPlainFails},
			Text:     fmt.Sprintf("requests with a temperature are answered, those without sampling fields are not: %s", failed(&plain.Answer)),
			Evidence: []finding.Evidence{request(plain.Answer, plain.Answer.Error, "no sampling fields: the server's defaults come from the model's generation_config.json")},
		}
		return v, true
	}
	for _, a := range []*Asked{greedy, hot, plain} {
		if a == nil || a.Answer.Failure != Status || a.Answer.Status != 500 {
			continue
		}
		v = Verdict{
			Outcome: Fail, Signs: []Sign{SignError},
			Text:     fmt.Sprintf("a proper request (%s, %s) ends in an error of the server: %s", a.Ask.Kind, a.Ask.Label, failed(&a.Answer)),
			Evidence: []finding.Evidence{request(a.Answer, a.Answer.Error, a.Ask.Label)},
		}
		dead(&v)
		return v, true
	}
	if after != nil && len(good) > 0 {
		v = Verdict{Outcome: Fail, Text: "the server stopped answering", Evidence: []finding.Evidence{request(after.Answer, after.Answer.Error, after.Ask.Label)}}
		first = after
		dead(&v)
		return v, true
	}
	return v, false
}

// serverSide says whether a request failed by the server's own doing. A timeout may
// be slowness, and 502 to 504 come from what stands before a server.
func serverSide(a *Answer) bool {
	return a.Failure == Reset || a.Failure == Refused || a.Failure == Status && a.Status == 500
}

// oneToken is the token of which a whole answer consists; ok is false for another
// answer, or a short one.
func oneToken(a *Answer) (name string, ok bool) {
	if !a.OK() || len(a.Choices) == 0 {
		return "", false
	}
	c := &a.Choices[0]
	if len(c.Tokens) >= loop {
		first := c.Tokens[0]
		for _, t := range c.Tokens {
			if key(t.ID, t.Text) != key(first.ID, first.Text) {
				return "", false
			}
		}
		if first.ID == 0 {
			return "token 0", true
		}
		return first.Text, true
	}
	r := []rune(strings.TrimSpace(c.Text))
	if len(c.Tokens) > 0 || len(r) < loop || slices.ContainsFunc(r, func(x rune) bool { return x != r[0] }) {
		return "", false
	}
	return string(r[:1]), true
}

// collapse finds greedy answers to different prompts that are one and the same
// token. Small and untrained models repeat a token too: what tells them apart is
// that they doubt, and that another prompt gives another token. "!" is token 0 of
// the vocabularies of GPT-2 and its kin, which argmax gives where all is NaN.
func collapse(all []Asked) (v Verdict, ok bool) {
	var asked []*Asked
	name := ""
	for i := range all {
		a := &all[i]
		if a.Ask.Sampling != Greedy || a.Ask.Max < loop || !a.Answer.OK() {
			continue
		}
		one, ok := oneToken(&a.Answer)
		if !ok || name != "" && one != name {
			return v, false
		}
		name = one
		asked = append(asked, a)
	}
	zero := strings.Trim(name, "!") == "" || name == "token 0"
	if name == "" || len(asked) < 2 && !zero {
		return v, false
	}
	told, doubt := false, false
	for _, a := range asked {
		for _, t := range a.Answer.Choices[0].Tokens {
			told = told || a.Answer.Choices[0].Told
			doubt = doubt || t.Logprob.Value < math.Log(sure)
		}
	}
	if told && doubt || !told && !zero {
		return v, false
	}
	v = Verdict{
		Outcome: Fail, Signs: []Sign{SignCollapse},
		Text:      fmt.Sprintf("different prompts are all answered with one token again and again: %q", name),
		Threshold: fmt.Sprintf("at least %d tokens, all the same, each with a probability above %.2f where logprobs are told", loop, sure),
	}
	for _, a := range asked {
		v.Evidence = append(v.Evidence, request(a.Answer, a.Answer.Choices[0].Text, a.Ask.Label))
	}
	return v, true
}

// emptied finds answers without text whose tokens were counted. A model may end at
// once (one token, "stop"), and a small one may choose tokens that are not shown.
func emptied(all []Asked) (v Verdict, ok bool) {
	var asked []*Asked
	for i := range all {
		a := &all[i]
		if a.Ask.Sampling != Greedy || a.Ask.Max < loop || !a.Answer.OK() || len(a.Answer.Choices) == 0 {
			continue
		}
		c := &a.Answer.Choices[0]
		counted := max(a.Answer.AnswerCount, len(c.Tokens))
		doubt := slices.ContainsFunc(c.Tokens, func(t Token) bool { return c.Told && t.Logprob.Value < math.Log(sure) })
		if c.Text != "" || c.Reasoning != "" || len(c.Calls) > 0 || counted < loop || c.Finish != "length" || doubt {
			return v, false
		}
		asked = append(asked, a)
	}
	if len(asked) < 2 {
		return v, false
	}
	v = Verdict{
		Outcome: Fail, Signs: []Sign{SignEmpty},
		Text:      fmt.Sprintf("%d different prompts get empty answers, though %d tokens each were counted", len(asked), asked[0].Answer.AnswerCount),
		Threshold: fmt.Sprintf("at least %d tokens counted, ended by length, none of them shown", loop),
	}
	for _, a := range asked {
		v.Evidence = append(v.Evidence, request(a.Answer, "", a.Ask.Label))
	}
	return v, true
}

// marks end or begin a turn in the templates of the common families. A model that
// was trained on such text writes them as one token; one that was not spells them.
var marks = []string{
	"<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|start_header_id|>", "<|end|>", "<|return|>",
	"<end_of_turn>", "<start_of_turn>", "</s>", "[/INST]", "<|user|>", "<|assistant|>", "<|observation|>", "<｜end▁of▁sentence｜>", "<｜User｜>", "[gMASK]",
}

// special finds control tokens that stand in the text of a chat. The answer's
// tokens decide: a mark that is spelled out is the model's doing.
func special(all []Asked) (v Verdict, ok bool) {
	for i := range all {
		a := &all[i]
		if !a.Answer.OK() || a.Ask.Kind != Chat {
			continue
		}
		for _, c := range a.Answer.Choices {
			for _, m := range marks {
				if strings.Contains(c.Text, m) && slices.ContainsFunc(c.Tokens, func(t Token) bool { return t.Text == m }) {
					return Verdict{
						Outcome: Fail, Signs: []Sign{SignSpecial},
						Text:     fmt.Sprintf("the control token %s stands in the text of a chat, and the answer goes on behind it or ends with it", m),
						Evidence: []finding.Evidence{request(a.Answer, c.Text, "it should end the turn and not be shown: stop tokens or the template are not the model's")},
					}, true
				}
			}
		}
	}
	return v, false
}

// decidedJudge looks at the greedy answers of the probe "first".
func decidedJudge(s *State) Verdict {
	var tokens []Token
	var from *Asked
	for a := range s.earlier("first") {
		if a.Ask.Sampling == Greedy && a.Answer.OK() && len(a.Answer.Choices) > 0 && a.Answer.Choices[0].Told {
			tokens = append(tokens, a.Answer.Choices[0].Tokens...)
			if from == nil {
				from = a
			}
		}
	}
	if len(tokens) < loop {
		return cantTell("no logprobs of a greedy answer were told", "")
	}
	top, equal, flat := math.Inf(-1), true, true
	for _, t := range tokens {
		if t.Logprob.Null {
			return cantTell(noNumbers, "")
		}
		top = max(top, t.Logprob.Value)
		equal = equal && level(t)
		flat = flat && s.flat(t)
	}
	quote := []finding.Evidence{request(from.Answer, textOf(&from.Answer), fmt.Sprintf("the likeliest token has a logprob of %.2f at most", top))}
	switch {
	case equal:
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignFlat}, Evidence: quote,
			Text:      fmt.Sprintf("all likeliest tokens have exactly the same logprob (%.3f) at all %d positions: the logits are all the same", top, len(tokens)),
			Threshold: "at least 5 likeliest tokens told, bit-equal at every position; even untrained weights differ",
		}
	case flat:
		v := cantTell(fmt.Sprintf("at all %d positions every token is about as likely as every other (%.2f at most): weights that were never loaded, or an untrained model", len(tokens), top),
			"a comparison with the checkpoint (--oracle)", quote...)
		v.Signs = []Sign{SignFlat}
		v.Threshold = fmt.Sprintf("greedy logprobs below %.1f of -ln(vocabulary): dummy weights gave all of it, untrained ones 0.8", flatPart)
		return v
	}
	return Verdict{Outcome: Pass, Text: fmt.Sprintf("greedy tokens have logprobs up to %.2f", top)}
}

// level says whether the likeliest tokens of a position are all told the same.
func level(t Token) bool {
	if len(t.Top) < 5 {
		return false
	}
	for _, r := range t.Top {
		if r.Logprob.Null || r.Logprob.Value != t.Top[0].Logprob.Value || r.Logprob.Value <= floorLogprob {
			return false
		}
	}
	return t.Top[0].Logprob.Value < math.Log(0.2)
}

// flat says whether the likeliest token is hardly likelier than chance.
func (s *State) flat(t Token) bool {
	if s.Target.Vocab > 0 {
		return t.Logprob.Value < -flatPart*math.Log(float64(s.Target.Vocab))
	}
	n := len(t.Top)
	return n >= 2 && t.Logprob.Value < -7 && t.Top[0].Logprob.Value-t.Top[n-1].Logprob.Value < 0.5
}

// staleJudge holds what the user said of the server against what it says itself.
func staleJudge(s *State) Verdict {
	e, t := &s.Target.Expected, s.Target
	var wrong, right, unknown []string
	check := func(what, want, have string, same bool) {
		switch {
		case want == "":
		case have == "":
			unknown = append(unknown, what)
		case same:
			right = append(right, what+" "+have)
		default:
			wrong = append(wrong, fmt.Sprintf("%s is %s, expected %s", what, have, want))
		}
	}
	name := t.Model
	if t.Root != "" && t.Root != name {
		name += " (" + t.Root + ")"
	}
	check("model", e.Model, name, sameModel(e.Model, t.Model) || sameModel(e.Model, t.Root))
	check("engine", e.Engine, t.Engine, strings.EqualFold(e.Engine, t.Engine))
	check("version", e.Version, t.Version, sameVersion(e.Version, t.Version))
	if e.StartedAfter > 0 {
		have := ""
		if t.Started > 0 {
			have = fmt.Sprintf("at %d", t.Started)
		}
		check("start", fmt.Sprintf("after %d (seconds since 1970)", e.StartedAfter), have, t.Started >= e.StartedAfter)
	}
	if n := s.claimed(); e.Context > 0 && n >= e.Context {
		right = append(right, fmt.Sprintf("context %d", n)) // less is judged by the probe "context"
	}
	quote := func(text string) []finding.Evidence {
		return []finding.Evidence{{Kind: "endpoint", File: t.Sources["Model"], Text: text}}
	}
	switch {
	case len(wrong) > 0:
		text := strings.Join(wrong, "; ")
		return Verdict{Outcome: Fail, Signs: []Sign{SignStale}, Text: text, Evidence: quote(text)}
	case len(right) > 0 && len(unknown) == 0:
		return Verdict{Outcome: Pass, Text: strings.Join(right, ", ") + ", as expected"}
	case len(unknown) > 0:
		return cantTell("the server does not tell its "+strings.Join(unknown, " and "), "")
	}
	return cantTell("of the server that ought to be here neither model nor engine, version or start was said", "--expect")
}

// sameModel compares names as users write them: the served name, a path, or the
// last part of a path, in any case of letters.
func sameModel(want, have string) bool {
	last := func(s string) string {
		s = strings.TrimRight(strings.ReplaceAll(s, "\\", "/"), "/")
		return s[strings.LastIndex(s, "/")+1:]
	}
	if have == "" {
		return false
	}
	return strings.EqualFold(want, have) || strings.EqualFold(last(want), last(have))
}

// sameVersion compares versions by their parts: 0.5 stands for all of 0.5.x, and a
// suffix (+cpu, .post1, -dev) is no difference unless it was said.
func sameVersion(want, have string) bool {
	want, have = strings.TrimPrefix(want, "v"), strings.TrimPrefix(have, "v")
	rest, ok := strings.CutPrefix(have, want)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], ".+-_ ("))
}

// watchNext asks for health and counters, one after the other.
func watchNext(s *State, n int) []Ask {
	var asks []Ask
	if s.Target.Has.Health {
		asks = append(asks, Ask{Kind: Health, Label: "health", Top: -1})
	}
	if s.Target.Has.Metrics {
		asks = append(asks, Ask{Kind: Metrics, Label: "counters", Top: -1})
	}
	if n < len(asks) {
		return asks[n : n+1]
	}
	return nil
}

func healthJudge(s *State) Verdict {
	all := s.answers()
	var said []string
	for i := range all {
		a := &all[i]
		if a.Answer.OK() {
			said = append(said, string(a.Ask.Kind))
			continue
		}
		return cantTell(fmt.Sprintf("%s: %s", a.Ask.Label, failed(&a.Answer)), "whether it answers requests (see \"alive\")", request(a.Answer, a.Answer.Error, a.Ask.Label))
	}
	if said == nil {
		return cantTell("the server tells neither its health nor counters", "")
	}
	return Verdict{Outcome: Pass, Text: strings.Join(said, " and ") + " can be read"}
}

// aliveNext asks for a token, then for health and counters, then for a token again
// when the first did not come.
func aliveNext(s *State) []Ask {
	n := len(s.Rounds)
	short := func(label string) []Ask {
		if !s.Target.Has.Completions && !s.Target.Has.Chat {
			return nil
		}
		a := s.ask(Completion, label, capitalText, capitalChat, Greedy, 1)
		a.Top = -1
		return []Ask{a}
	}
	if n == 0 {
		return short("one token, at the end")
	}
	if asks := watchNext(s, n-1); asks != nil {
		return asks
	}
	asked := 0
	for _, a := range s.answers() {
		if a.Ask.Kind == Completion || a.Ask.Kind == Chat {
			asked++
		}
	}
	if asked == 1 && !s.Rounds[0][0].Answer.OK() {
		return short("one token, once more")
	}
	return nil
}

func aliveJudge(s *State) Verdict {
	var short []*Asked
	var health, metrics *Asked
	for _, r := range s.Rounds {
		for i := range r {
			switch a := &r[i]; a.Ask.Kind {
			case Health:
				health = a
			case Metrics:
				metrics = a
			default:
				short = append(short, a)
			}
		}
	}
	if len(short) == 0 {
		return cantTell("the server neither chats nor continues text", "")
	}
	last := short[len(short)-1]
	if !last.Answer.OK() {
		return s.silent(short, health, metrics)
	}
	if v, ok := s.spoiled(); ok {
		return v
	}
	if a := short[0]; !a.Answer.OK() && (a.Answer.Failure == Reset || a.Answer.Failure == Refused) {
		return cantTell(fmt.Sprintf("it answers, though a moment before it did not (%s): it may have been restarted", failed(&a.Answer)), "its log", request(a.Answer, a.Answer.Error, a.Ask.Label))
	}
	if health != nil && !health.Answer.OK() {
		return cantTell(fmt.Sprintf("it answers, and its health says otherwise: %s", failed(&health.Answer)), "", request(health.Answer, health.Answer.Error, "health"))
	}
	return Verdict{Outcome: Pass, Text: "it answers at the end, and no answer on the way was spoiled"}
}

// silent is the verdict on a server that no longer answers one token.
func (s *State) silent(short []*Asked, health, metrics *Asked) Verdict {
	last := short[len(short)-1]
	v := Verdict{Outcome: Fail, Evidence: []finding.Evidence{request(last.Answer, last.Answer.Error, last.Ask.Label)}}
	before := "no request was answered"
	if n := s.answeredBefore(); n > 0 {
		before = fmt.Sprintf("%d requests were answered before", n)
	}
	switch f := last.Answer.Failure; {
	case f == Refused:
		v.Signs = []Sign{SignDead}
		v.Text = "the server is gone: " + failed(&last.Answer) + "; " + before
	case f == Reset:
		v.Signs = []Sign{SignDead}
		v.Text = "the server breaks the connection of a request for one token, twice; " + before
	case f == TimedOut && len(short) > 1:
		v.Signs = []Sign{SignHang}
		v.Text = "a request for one token is not answered in time, twice; " + before
	case f == Status && last.Answer.Status == 500:
		v.Signs = []Sign{SignError}
		v.Text = "a request for one token ends in " + failed(&last.Answer) + "; " + before
	default:
		return cantTell("a request for one token came to nothing: "+failed(&last.Answer), "", v.Evidence...)
	}
	if health != nil && health.Answer.OK() {
		v.Signs = append(v.Signs, SignHealthLies)
		v.Text += "; its health says that all is well"
		v.Evidence = append(v.Evidence, request(health.Answer, "health: 200", "health"))
	}
	if text, ok := s.stuck(metrics); ok {
		v.Signs = append(v.Signs, SignCounters)
		v.Text += "; " + text
		v.Evidence = append(v.Evidence, request(metrics.Answer, text, "counters"))
	}
	return v
}

// Names of the counters: running requests, and tokens generated so far. SGLang's
// gauge of running requests may be old by some seconds in an idle server, so that
// it counts only against a request which is not answered.
var (
	runningNames   = []string{"vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing", "shakedown:num_requests_running", "lmdeploy:num_requests_running", "trtllm_num_requests_running"}
	generatedNames = []string{"vllm:generation_tokens_total", "sglang:generation_tokens_total", "llamacpp:tokens_predicted_total", "shakedown:generation_tokens_total", "lmdeploy:generation_tokens_total"}
)

func counter(a *Asked, names []string) (float64, bool) {
	if a == nil || !a.Answer.OK() {
		return 0, false
	}
	for _, n := range names {
		if v, ok := a.Answer.Metrics[n]; ok {
			return v, true
		}
	}
	return 0, false
}

// stuck says whether requests run by the server's own count while no token was
// made since the first reading.
func (s *State) stuck(end *Asked) (string, bool) {
	var start *Asked
	for a := range s.earlier("health") {
		if a.Ask.Kind == Metrics {
			start = a
		}
	}
	running, ok := counter(end, runningNames)
	was, okWas := counter(start, generatedNames)
	is, okIs := counter(end, generatedNames)
	if !ok || !okWas || !okIs || running <= 0 || is != was {
		return "", false
	}
	return fmt.Sprintf("it counts %.0f running requests and %.0f tokens, as many as at the start", running, is), true
}

// spoiled finds answers of any probe that show NaN or an error of the server on a
// request which every server can answer.
func (s *State) spoiled() (Verdict, bool) {
	var worst *Asked
	others := slices.DeleteFunc(s.ran(), func(id string) bool { return id == "first" || id == "context" }) // judged there
	for a := range s.earlier(others...) {
		if a.Ask.Leave > 0 || a.Ask.Tools != nil || a.Ask.Schema != "" || a.Ask.Echo || a.Ask.N > 1 || a.Ask.Kind != Completion && a.Ask.Kind != Chat {
			continue
		}
		_, isNaN := nan(a)
		bad := isNaN || a.Answer.Failure == Status && a.Answer.Status == 500 || a.Answer.Failure == Reset
		if bad && (worst == nil || a.Answer.Exchange < worst.Answer.Exchange) {
			worst = a
		}
	}
	if worst == nil {
		return Verdict{}, false
	}
	if v, ok := nan(worst); ok {
		return v, true
	}
	return Verdict{
		Outcome: Fail, Signs: []Sign{SignError},
		Text:     fmt.Sprintf("a proper request (%s) ended in an error of the server: %s", worst.Ask.Label, failed(&worst.Answer)),
		Evidence: []finding.Evidence{request(worst.Answer, worst.Answer.Error, worst.Ask.Label)},
	}, true
}
