// Command streams measures OpenAI-compatible servers against each other: time to the
// first token and tokens per second, one request alone and several at once. It is the
// clock of scripts/bench-serve.
//
//	go run ./scripts/streams [flags] NAME=URL[@PID] [NAME=URL[@PID]...]
//
// Of a process whose number is given (Linux) it also tells the processor time of an
// answer, which other work on the machine changes less.
//
// Servers take turns in every round, the first is the one whose ratios are printed.
// Every prompt is new, so that no server has it in a cache, and all servers get the
// same ones. The numbers are medians over the rounds, behind one that warms up.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

type options struct {
	prompt, answer int // tokens, those of the prompt about
	rounds         int
	atOnce         int
	extra          string // fields of a request, as JSON
}

func main() {
	var o options
	flag.IntVar(&o.prompt, "prompt", 256, "`TOKENS` of a prompt, about")
	flag.IntVar(&o.answer, "answer", 64, "`TOKENS` of an answer")
	flag.IntVar(&o.rounds, "rounds", 5, "`N` rounds that count")
	flag.IntVar(&o.atOnce, "at-once", 8, "`N` requests at the same time")
	flag.StringVar(&o.extra, "extra", "", "NAME={\"field\":1} adds fields to the requests for a server")
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1)
	}
}

type server struct{ name, url, pid, extra string }

// result is what one round measured.
type result struct {
	first  time.Duration // to the first token, median of the requests
	decode float64       // tokens per second of one answer behind its first, median
	total  float64       // tokens per second of all answers, from the first request on
	cpu    float64       // seconds of processor time of an answer
	prompt int           // tokens
}

func run(o options, args []string) error {
	var servers []server
	for _, a := range args {
		name, url, ok := strings.Cut(a, "=")
		if !ok {
			return fmt.Errorf("%q is no NAME=URL", a)
		}
		url, pid, _ := strings.Cut(url, "@")
		s := server{name: name, url: strings.TrimRight(url, "/"), pid: pid}
		if n, extra, _ := strings.Cut(o.extra, "="); n == name {
			s.extra = extra
		}
		servers = append(servers, s)
	}
	if len(servers) == 0 || o.rounds < 1 || o.atOnce < 1 || o.answer < 2 || o.prompt < 1 {
		return errors.New("a NAME=URL is needed, rounds, at-once and prompt from 1, answer from 2")
	}
	number := int(time.Now().Unix() % 1e6) // another run may have left its prompts in a cache
	for _, atOnce := range slices.Compact([]int{1, o.atOnce}) {
		results := make([][]result, len(servers))
		for round := range o.rounds + 1 {
			for i, s := range servers {
				r, err := s.round(o, number, atOnce)
				if err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
				if round > 0 { // the first one warms up
					results[i] = append(results[i], r)
				}
			}
			number += atOnce
		}
		report(servers, results, atOnce)
	}
	return nil
}

func report(servers []server, results [][]result, atOnce int) {
	mid := func(i int, f func(result) float64) float64 {
		var all []float64
		for _, r := range results[i] {
			all = append(all, f(r))
		}
		return median(all)
	}
	for _, m := range []struct {
		name, unit string
		lower      bool // is better
		f          func(result) float64
	}{
		{"first token", "ms", true, func(r result) float64 { return r.first.Seconds() * 1000 }},
		{"one answer", "tokens/s", false, func(r result) float64 { return r.decode }},
		{"all together", "tokens/s", false, func(r result) float64 { return r.total }},
		{"processor", "ms", true, func(r result) float64 { return r.cpu * 1000 }},
	} {
		if m.name == "processor" && slices.ContainsFunc(servers, func(s server) bool { return s.pid == "" }) {
			continue
		}
		line := fmt.Sprintf("%2d at once  %-12s", atOnce, m.name)
		for i, s := range servers {
			v := mid(i, m.f)
			line += fmt.Sprintf("  %s %.1f %s", s.name, v, m.unit)
			if i > 0 {
				ratio := mid(0, m.f) / v
				if m.lower {
					ratio = 1 / ratio
				}
				line += fmt.Sprintf(" (%.2f)", ratio)
			}
		}
		fmt.Printf("%s  prompts of %d tokens\n", line, results[0][0].prompt)
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// answer is one streamed answer.
type answer struct {
	first, last    time.Duration // since the round began
	prompt, tokens int
	err            error
}

// round sends requests at once and reads their answers.
func (s server) round(o options, number, atOnce int) (result, error) {
	answers := make(chan answer)
	before, err := s.processor()
	if err != nil {
		return result{}, err
	}
	start := time.Now()
	for i := range atOnce {
		go func() { answers <- s.ask(o, number+i, start) }()
	}
	var first, decode []float64
	var errs []error
	var out result
	tokens, end := 0, time.Duration(0)
	for range atOnce {
		a := <-answers
		if a.err == nil && a.tokens != o.answer {
			a.err = fmt.Errorf("an answer of %d tokens, not %d", a.tokens, o.answer)
		}
		errs = append(errs, a.err)
		first = append(first, float64(a.first))
		decode = append(decode, float64(a.tokens-1)/(a.last-a.first).Seconds())
		tokens += a.tokens
		end = max(end, a.last)
		out.prompt = a.prompt
	}
	out.first, out.decode, out.total = time.Duration(median(first)), median(decode), float64(tokens)/end.Seconds()
	after, err := s.processor()
	out.cpu = (after - before) / float64(atOnce)
	return out, errors.Join(append(errs, err)...)
}

// processor is the processor time of the process so far, in seconds; 0 where it is not
// known.
func (s server) processor() (float64, error) {
	if s.pid == "" {
		return 0, nil
	}
	stat, err := os.ReadFile("/proc/" + s.pid + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest) // proc(5): from the third on
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%s/stat: %q", s.pid, stat)
	}
	const ticks = 100 // a second: USER_HZ, the same on all of Go's Linux ports
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return float64(user+system) / ticks, errors.Join(err1, err2)
}

// words are single tokens of most vocabularies, each behind a space.
var words = strings.Fields("time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work government number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city name")

// client makes a connection for each request: a server may close one that is idle.
var client = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ask sends the prompt of a number.
func (s server) ask(o options, number int, start time.Time) (a answer) {
	prompt := []string{fmt.Sprint(number)}
	seed := uint64(number)*2654435761 + 1
	for range o.prompt {
		seed = seed*6364136223846793005 + 1442695040888963407
		prompt = append(prompt, words[seed>>33%uint64(len(words))])
	}
	fields := map[string]any{
		"prompt": strings.Join(prompt, " "), "max_tokens": o.answer, "temperature": 0, "ignore_eos": true,
		"stream": true, "stream_options": map[string]bool{"include_usage": true},
	}
	if s.extra != "" {
		if a.err = json.Unmarshal([]byte(s.extra), &fields); a.err != nil {
			return a
		}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		a.err = err
		return a
	}
	resp, err := client.Post(s.url+"/v1/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		a.err = err
		return a
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // what it says is all that is known
		a.err = fmt.Errorf("%s: %s", resp.Status, text)
		return a
	}
	a.err = a.read(resp.Body, start)
	return a
}

// read follows a stream to its end.
func (a *answer) read(r io.Reader, start time.Time) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var part struct {
			Choices []json.RawMessage
			Usage   *struct {
				Prompt int `json:"prompt_tokens"`
				Answer int `json:"completion_tokens"`
			}
		}
		if err := json.Unmarshal(data, &part); err != nil {
			return fmt.Errorf("%w in %s", err, data)
		}
		if len(part.Choices) > 0 {
			a.last = time.Since(start)
			if a.first == 0 {
				a.first = a.last
			}
		}
		if part.Usage != nil {
			a.prompt, a.tokens = part.Usage.Prompt, part.Usage.Answer
		}
	}
	return lines.Err()
}
