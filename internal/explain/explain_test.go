package explain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"shakedown/internal/command"
	"shakedown/internal/explain"
	"shakedown/internal/finding"
	"shakedown/internal/logstream"
)

// Pieces of SGLang logs; each ends with a line end.
const (
	sglCommand = "$ python3 -m sglang.launch_server --model-path /models/orca-7b --tp 2\n"
	sglStart   = `[2026-03-01 10:00:00] server_args=ServerArgs(model_path='/models/orca-7b', tp_size=2, nnodes=1, node_rank=0, kv_cache_dtype='auto', page_size=1)
[2026-03-01 10:00:11 TP0] Load weight begin. avail mem=78.40 GB
[2026-03-01 10:00:11 TP1] Load weight begin. avail mem=78.40 GB
`
	sglReady   = "[2026-03-01 10:00:46] The server is fired up and ready to roll!\n"
	sglServed  = "[2026-03-01 10:01:01] INFO:     127.0.0.1:40112 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n"
	orcaNeeds  = "[2026-03-01 10:00:12 TP0] ERROR kernel.py:7: the orca kernel needs 9 of 8 GiB\n"
	strange    = "[2026-03-01 10:00:13 TP0] ERROR kernel.py:9: a whale was sighted\n"
	newForm    = "[2026-03-01 10:00:30 TP0] Load weight end. took 19 s\n"
	sglSigquit = "[2026-03-01 10:02:00] Received sigquit from a child process. It usually means the child failed.\n"
)

// orcaRule is a rule of the user's own.
const orcaRule = `id: USR-ORCA-001
title: the orca kernel is too big
why: It is.
cause: kernel-resources
severity: error
role: cause
confidence: likely
lines: [{anchor: the orca kernel needs}]
remedies: [{title: fewer, set: {--tp: '1'}}]
`

var orcaRules = fstest.MapFS{"USR-ORCA-001/rule.yaml": {Data: []byte(orcaRule)}}

// source is a log in memory.
func source(name, log string) logstream.Source {
	return logstream.Source{Name: name, Size: int64(len(log)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(log)), nil
	}}
}

// stream collects messages as they are written, and fails where told.
type stream struct {
	kinds []string // in order
	all   []finding.Message
	lines [][]byte
	fail  string // kind of message to fail at
}

var errHandler = errors.New("disk full")

func (s *stream) Handle(m finding.Message) error {
	line, err := finding.Marshal(m)
	if err != nil {
		return err
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", m), "*finding.")
	s.kinds = append(s.kinds, kind)
	s.all, s.lines = append(s.all, m), append(s.lines, line)
	if kind == s.fail {
		return errHandler
	}
	return nil
}

func (s *stream) Close() error { return nil }

// of returns the messages of one type.
func of[M finding.Message](s *stream) []M {
	var out []M
	for _, m := range s.all {
		if x, ok := m.(M); ok {
			out = append(out, x)
		}
	}
	return out
}

func run(t *testing.T, opt explain.Options) (*stream, explain.Result) {
	t.Helper()
	s := new(stream)
	res, err := explain.Run(t.Context(), opt, s)
	if err != nil {
		t.Fatal(err)
	}
	return s, res
}

func one(log string) explain.Options {
	return explain.Options{Sources: []logstream.Source{source("server.log", log)}, Rules: []fs.FS{orcaRules}}
}

// order is the order of the messages of a stream.
var order = regexp.MustCompile(`^ConfigMsg( LaunchMsg( SymptomMsg)?( FindingMsg)*( NotItMsg)*( SettingMsg)*( DriftMsg)*( UnexplainedMsg)*)+$`)

// TestStream: the order and the form of everything that is handed out.
func TestStream(t *testing.T) {
	failing := sglCommand + sglStart + newForm + orcaNeeds + strange + sglSigquit
	schema, err := jsonschema.NewCompiler().Compile("../../schema/explain.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s, res := run(t, one(failing+strings.ReplaceAll(sglCommand+sglStart+sglReady+sglServed, " 10:", " 12:")))
	if got := strings.Join(s.kinds, " "); !order.MatchString(got) {
		t.Errorf("messages in the order %s", got)
	}
	for _, kind := range []string{"SymptomMsg", "FindingMsg", "NotItMsg", "SettingMsg", "DriftMsg", "UnexplainedMsg"} {
		if !slices.Contains(s.kinds, kind) {
			t.Errorf("no %s", kind)
		}
	}
	for _, line := range s.lines {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%v\n%s", err, line)
		}
	}
	launches := of[*finding.LaunchMsg](s)
	if res.Launches != 2 || len(launches) != 2 || res.Last != explain.Healthy || res.Findings != len(of[*finding.FindingMsg](s)) {
		t.Fatalf("result %+v of %d launches", res, len(launches))
	}
	first := launches[0]
	if first.N != 1 || first.Outcome != finding.Failed || first.FirstLine != 1 || first.LastLine != 8 || first.NextMissing != "weights loaded" || first.ErrorLines == 0 {
		t.Errorf("first launch %+v", first)
	}
	if m := launches[1]; m.N != 2 || m.Outcome != finding.OK || m.FirstLine != 9 || m.Verdict != "healthy" {
		t.Errorf("second launch %+v", m)
	}
	for _, f := range of[*finding.FindingMsg](s) {
		if f.Launch != 1 {
			t.Errorf("%s is of launch %d", f.ID, f.Launch)
		}
	}
	if d := of[*finding.DriftMsg](s); len(d) != 1 || d[0].ID != "SGL-LOAD-END" || d[0].Line != 5 {
		t.Errorf("new forms %+v", d)
	}
	if u := of[*finding.UnexplainedMsg](s); len(u) != 1 || u[0].Line != 7 {
		t.Errorf("unexplained %+v", u)
	}
}

// TestListed: of a long history the launches at both ends and the last failure
// between them are judged, with the numbers they have among all.
func TestListed(t *testing.T) {
	var log strings.Builder
	for n := 1; n <= 8; n++ {
		rest := sglReady + sglServed
		if n == 4 {
			rest = orcaNeeds + sglSigquit
		}
		log.WriteString(strings.ReplaceAll(sglCommand+sglStart+rest, " 10:", fmt.Sprintf(" 1%d:", n)))
	}
	opt := one(log.String())
	opt.Listed = 2
	s, res := run(t, opt)
	var got []int
	for _, m := range of[*finding.LaunchMsg](s) {
		got = append(got, m.N)
	}
	if want := []int{1, 2, 4, 7, 8}; !slices.Equal(got, want) || res.Launches != 8 || res.Last != explain.Healthy {
		t.Errorf("launches %v of %d judged, want %v of 8", got, res.Launches, want)
	}
	if f := of[*finding.FindingMsg](s); len(f) == 0 || f[0].Launch != 4 {
		t.Errorf("findings %+v, want those of launch 4", f)
	}
}

func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		name, log string
		want      explain.Verdict
		words     string
	}{
		{"healthy", sglStart + sglReady + sglServed, explain.Healthy, "healthy"},
		{"healthy start", sglStart + sglReady, explain.Healthy, "healthy start; no request was served"},
		{"failed", sglStart + orcaNeeds + sglSigquit, explain.Problem, "failed before ready"},
		{"failed after ready", sglStart + sglReady + sglServed + orcaNeeds + sglSigquit, explain.Problem, "failed after ready, after one answered request"},
		{"failed without a cause", sglStart + strange + sglSigquit, explain.CantTell, "failed before ready"},
		{"ends", sglStart, explain.CantTell, "stopped without a trace"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, res := run(t, one(tc.log))
			if words := of[*finding.LaunchMsg](s)[0].Verdict; res.Last != tc.want || words != tc.words {
				t.Errorf("verdict %d, %q; want %d, %q", res.Last, words, tc.want, tc.words)
			}
		})
	}
}

// TestRemedy: a remedy is the user's own command, changed.
func TestRemedy(t *testing.T) {
	s, _ := run(t, one(sglCommand+sglStart+orcaNeeds+sglSigquit))
	f := of[*finding.FindingMsg](s)[0]
	if f.ID != "USR-ORCA-001" || len(f.Remedies) != 1 {
		t.Fatalf("finding %+v", f)
	}
	r := f.Remedies[0]
	want := []string{"python3", "-m", "sglang.launch_server", "--model-path", "/models/orca-7b", "--tp", "1"}
	if !slices.Equal(r.Command, want) || !strings.Contains(r.Script, "--tp 1") {
		t.Errorf("command %q, script %q", r.Command, r.Script)
	}
	if c := r.Changes[0]; c.From == nil || *c.From != "2" || c.To == nil || *c.To != "1" {
		t.Errorf("change %+v", c)
	}
	if m := of[*finding.LaunchMsg](s)[0]; m.CommandFrom == nil || m.CommandFrom.Line != 1 {
		t.Errorf("the command is from %+v", m.CommandFrom)
	}
}

// TestGivenCommand: the user's command replaces the one in the log.
func TestGivenCommand(t *testing.T) {
	cmd, ok := command.ParseLine("python3 -m sglang.launch_server --model-path /models/mine --tp 8 --api-key SECRET")
	if !ok {
		t.Fatal("no command")
	}
	opt := one(sglCommand + sglStart + orcaNeeds + sglSigquit)
	opt.Command = &cmd
	s, _ := run(t, opt)
	m := of[*finding.LaunchMsg](s)[0]
	if !slices.Contains(m.Command, "/models/mine") || m.CommandFrom != nil {
		t.Errorf("command %q from %+v", m.Command, m.CommandFrom)
	}
	if strings.Contains(strings.Join(m.Command, " "), "SECRET") {
		t.Errorf("the command shows the key: %q", m.Command)
	}
}

// TestNoSecrets: keys in values, in quoted lines and in the name of the file are
// in no message.
func TestNoSecrets(t *testing.T) {
	const key = "hf_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefgh"
	log := strings.Replace(sglCommand, "--tp", `--trace 'https://otel.example/?token=velvet7' --kv '{"password":"otter88"}' --header 'X-Api-Key: heron99' --tp`, 1) +
		sglStart + orcaNeeds + sglSigquit
	opt := explain.Options{Rules: []fs.FS{orcaRules}, Sources: []logstream.Source{source("node-"+key+".log", log)}}
	s, _ := run(t, opt)
	if r := of[*finding.FindingMsg](s)[0].Remedies[0]; !strings.Contains(r.Script, "$X_API_KEY") {
		t.Errorf("script %s", r.Script)
	}
	if m := of[*finding.LaunchMsg](s)[0]; !slices.Equal(m.Files, []string{"node-<token>.log"}) {
		t.Errorf("files %q", m.Files)
	}
	for _, line := range s.lines {
		for _, secret := range []string{key, "velvet7", "otter88", "heron99"} {
			if strings.Contains(string(line), secret) {
				t.Errorf("%s is shown: %s", secret, line)
			}
		}
	}
}

// TestTold: engine, version and GPU of a paste that does not say them.
func TestTold(t *testing.T) {
	opt := one("ValueError: no such whale\n")
	opt.Engine, opt.GPU = "vllm@0.11.0", "8x H200"
	s, _ := run(t, opt)
	m := of[*finding.LaunchMsg](s)[0]
	if m.Engine != "vllm" || m.EngineVersion != "0.11.0" || m.Hardware != "8x H200" {
		t.Errorf("engine %s %s on %s", m.Engine, m.EngineVersion, m.Hardware)
	}
	opt.GPU = "H200"
	s, _ = run(t, opt)
	if m := of[*finding.LaunchMsg](s)[0]; m.Hardware != "H200" {
		t.Errorf("hardware %s", m.Hardware)
	}
	opt.Engine = "vlm"
	_, err := explain.Run(t.Context(), opt, new(stream))
	var unknown *explain.UnknownEngineError
	if !errors.As(err, &unknown) || unknown.Name != "vlm" {
		t.Errorf("error %v", err)
	}
}

// TestJoined: the files of two nodes are one launch, judged as one.
func TestJoined(t *testing.T) {
	node := func(rank int, rest string) string {
		return fmt.Sprintf("$ python3 -m sglang.launch_server --model-path /models/orca-7b --tp 16 --nnodes 2 --node-rank %d --dist-init-addr 10.1.0.1:5000\n", rank) +
			strings.SplitAfterN(sglStart, "\n", 2)[1] + rest
	}
	opt := explain.Options{Rules: []fs.FS{orcaRules}, Sources: []logstream.Source{source("n0.log", node(0, "")), source("n1.log", node(1, orcaNeeds+sglSigquit))}}
	s, res := run(t, opt)
	m := of[*finding.LaunchMsg](s)[0]
	if res.Launches != 1 || !slices.Equal(m.Files, []string{"n0.log", "n1.log"}) || m.Outcome != finding.Failed {
		t.Fatalf("%d launches, the first of %q: %s", res.Launches, m.Files, m.Outcome)
	}
	var ranks []string
	for _, r := range m.Ranks {
		ranks = append(ranks, fmt.Sprintf("%s %s: %s, %s", r.File, r.Rank, r.Last, r.Ended))
	}
	want := []string{"n0.log TP0: loading weights, log ends", "n0.log TP1: loading weights, log ends", "n1.log TP0: loading weights, failed", "n1.log TP1: loading weights, failed"}
	slices.Sort(ranks)
	if d := cmp.Diff(want, ranks); d != "" {
		t.Error(d)
	}
	if f := of[*finding.FindingMsg](s)[0]; f.ID != "USR-ORCA-001" || f.Evidence[0].File != "n1.log" {
		t.Errorf("root %s in %s", f.ID, f.Evidence[0].File)
	}
	opt.Sources = opt.Sources[:1]
	s, _ = run(t, opt)
	m = of[*finding.LaunchMsg](s)[0]
	if !slices.Equal(m.Missing, []string{"node 1"}) || !slices.ContainsFunc(m.Ranks, func(r finding.RankState) bool { return r.Rank == "node 1" && r.Last == "log not given" }) {
		t.Errorf("missing %q, ranks %+v", m.Missing, m.Ranks)
	}
}

func TestNoEngine(t *testing.T) {
	for _, sources := range [][]logstream.Source{nil, {source("a", "Hello.\n")}, {source("a", "Hello.\n"), source("b", "")}} {
		s := new(stream)
		_, err := explain.Run(t.Context(), explain.Options{Sources: sources}, s)
		if !errors.Is(err, explain.ErrNoEngine) || !slices.Equal(s.kinds, []string{"ConfigMsg"}) {
			t.Errorf("%d sources: error %v after %q", len(sources), err, s.kinds)
		}
	}
}

// TestHandlerError: nothing is handed out behind an error.
func TestHandlerError(t *testing.T) {
	log := strings.Repeat(sglCommand+sglStart+orcaNeeds+sglSigquit, 1) + strings.ReplaceAll(sglCommand+sglStart+sglReady, " 10:", " 12:")
	for _, kind := range []string{"ConfigMsg", "LaunchMsg", "FindingMsg", "SettingMsg"} {
		s := &stream{fail: kind}
		_, err := explain.Run(t.Context(), one(log), s)
		if !errors.Is(err, errHandler) || s.kinds[len(s.kinds)-1] != kind {
			t.Errorf("%s: error %v, messages %q", kind, err, s.kinds)
		}
	}
}

// endless is a log that never ends; it cancels after so many reads.
type endless struct {
	left   int
	cancel func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left--; e.left == 0 {
		e.cancel()
	}
	return copy(p, sglServed), nil
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	src := logstream.Source{Name: "server.log", Size: -1, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(sglStart+sglReady), &endless{left: 100, cancel: cancel})), nil
	}}
	for _, sources := range [][]logstream.Source{{src}, {source("first", sglStart), src}} {
		if _, err := explain.Run(ctx, explain.Options{Sources: sources}, new(stream)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
}

// TestReadErrors: the error names the source, and what came before is judged.
func TestReadErrors(t *testing.T) {
	gone := logstream.Source{Name: "gone.log", Open: func(context.Context) (io.ReadCloser, error) { return nil, fs.ErrNotExist }}
	if _, err := explain.Run(t.Context(), explain.Options{Sources: []logstream.Source{gone}}, new(stream)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	cut := logstream.Source{Name: "cut.log", Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(sglStart+sglReady), iotest.ErrReader(logstream.ErrCorrupt))), nil
	}}
	s := new(stream)
	res, err := explain.Run(t.Context(), explain.Options{Sources: []logstream.Source{cut}}, s)
	if !errors.Is(err, logstream.ErrCorrupt) || !strings.Contains(err.Error(), "cut.log") || res.Launches != 1 || len(of[*finding.LaunchMsg](s)) != 1 {
		t.Errorf("error %v, %d launches", err, res.Launches)
	}
}

func TestBadRules(t *testing.T) {
	bad := fstest.MapFS{"USR-ORCA-001/rule.yaml": {Data: []byte(strings.Replace(orcaRule, "likely", "sure", 1))}}
	s := new(stream)
	_, err := explain.Run(t.Context(), explain.Options{Rules: []fs.FS{bad}, Sources: []logstream.Source{source("a", sglStart)}}, s)
	if err == nil || !strings.Contains(err.Error(), `rules: USR-ORCA-001/rule.yaml: confidence "sure"`) || len(s.kinds) != 0 {
		t.Errorf("error %v after %q", err, s.kinds)
	}
}

// TestDemo keeps the embedded log's story: two launches that get ready and die
// of the same cause.
func TestDemo(t *testing.T) {
	s, res := run(t, explain.Options{Sources: []logstream.Source{explain.Demo()}})
	if res.Launches != 2 || res.Last != explain.Problem {
		t.Fatalf("result %+v", res)
	}
	for _, m := range of[*finding.LaunchMsg](s) {
		if m.Outcome != finding.ReadyThenFailed || m.Engine != "sglang" || len(m.Ranks) < 8 {
			t.Errorf("launch %d of %s: %s, %d ranks", m.N, m.Engine, m.Outcome, len(m.Ranks))
		}
	}
	for _, f := range of[*finding.FindingMsg](s) {
		if f.Rank == 1 && f.Cause != "numerics-nan" {
			t.Errorf("launch %d: the root %s is of class %s", f.Launch, f.ID, f.Cause)
		}
	}
}

// TestParallelRuns: one Run's searching of blocks side by side does not change
// what is found, however the log is cut.
func TestBlocks(t *testing.T) {
	var log strings.Builder
	log.WriteString(sglCommand + sglStart + sglReady)
	for range 30_000 {
		log.WriteString(sglServed)
	}
	log.WriteString(orcaNeeds + sglSigquit)
	s, _ := run(t, one(log.String()))
	m := of[*finding.LaunchMsg](s)[0]
	if m.Verdict != "failed after ready, after 30000 answered requests" || m.LastLine != 30_007 {
		t.Errorf("%s, last line %d", m.Verdict, m.LastLine)
	}
	if f := of[*finding.FindingMsg](s)[0]; f.ID != "USR-ORCA-001" || f.Evidence[0].Line != 30_006 {
		t.Errorf("root %s in line %d", f.ID, f.Evidence[0].Line)
	}
}

// TestFollowFinished: following a log that is complete tells the same.
func TestFollowFinished(t *testing.T) {
	opt := one(sglCommand + sglStart + newForm + orcaNeeds + strange + sglSigquit + strings.ReplaceAll(sglCommand+sglStart+sglReady+sglServed, " 10:", " 12:"))
	want, wantRes := run(t, opt)
	got := new(stream)
	res, err := explain.Follow(t.Context(), opt, got, explain.Watcher{})
	if err != nil || res != wantRes {
		t.Fatalf("result %+v, %v; want %+v", res, err, wantRes)
	}
	if d := cmp.Diff(want.all, got.all); d != "" {
		t.Error(d)
	}
}

// TestPredicted: with a known release, command, model and GPU the ledger says
// what was predictable, and which value the release's own rules do not give.
func TestPredicted(t *testing.T) {
	const log = "$ python3 -m sglang.launch_server --model-path zai-org/GLM-5-FP8 --tp 8\n" +
		"[2026-03-01 10:00:00] server_args=ServerArgs(model_path='zai-org/GLM-5-FP8', tp_size=8, kv_cache_dtype='bfloat16', page_size=64, attention_backend=None, nnodes=1, node_rank=0)\n" +
		sglReady
	settings := func(opt explain.Options) map[string]*finding.SettingMsg {
		s, _ := run(t, opt)
		out := map[string]*finding.SettingMsg{}
		for _, m := range of[*finding.SettingMsg](s) {
			out[m.Name] = m
		}
		return out
	}
	opt := one(log)
	opt.Engine, opt.GPU = "sglang@0.5.10.post1", "8x B200"
	got := settings(opt)
	if m := got["kv_cache_dtype"]; m == nil || m.Predicted != "fp8_e4m3" || !m.Contradicts {
		t.Errorf("kv_cache_dtype %+v", m)
	}
	if m := got["page_size"]; m == nil || m.Predicted != "64" || m.Contradicts {
		t.Errorf("page_size %+v", m)
	}
	if m := got["attention_backend"]; m == nil || m.Contradicts {
		t.Errorf("a value that was printed before it was chosen: %+v", m)
	}
	for name, change := range map[string]func(*explain.Options){
		"no GPU":         func(o *explain.Options) { o.GPU = "" },
		"an unknown GPU": func(o *explain.Options) { o.GPU = "8x Heron" },
		"a near release": func(o *explain.Options) { o.Engine = "sglang@0.5.11" },
		"an unknown model": func(o *explain.Options) {
			*o = one(strings.ReplaceAll(log, "GLM-5-FP8", "Orca-9"))
			o.Engine, o.GPU = "sglang@0.5.10.post1", "8x B200"
		},
	} {
		opt := one(log)
		opt.Engine, opt.GPU = "sglang@0.5.10.post1", "8x B200"
		change(&opt)
		if m := settings(opt)["kv_cache_dtype"]; m == nil || m.Predicted != "" || m.Contradicts {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
