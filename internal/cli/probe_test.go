package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/finding"
	"shakedown/internal/probe"
	"shakedown/internal/prober"
)

// secretKey is a key that no output may hold.
const secretKey = "sesame-4711-open"

// serveTiny runs a server of a tiny checkpoint that asks for secretKey, and returns
// its address and the checkpoint.
func serveTiny(t *testing.T, more ...string) (url, dir string) {
	t.Helper()
	dir = served(t)
	ctx, interrupt := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		env := func(name string) string { return map[string]string{keyVariable: secretKey}[name] }
		Main(ctx, World{Args: append([]string{"serve", dir, "--port", "0", "--name", "tiny"}, more...), Env: env, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: w})
		w.Close()
	}()
	t.Cleanup(func() {
		interrupt()
		<-ended
	})
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if m := regexp.MustCompile(`^ready: (http://127\.0\.0\.1:\d+)/v1 `).FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, r)
			return m[1], dir
		}
	}
	t.Fatal("the server did not become ready")
	return "", ""
}

// probed runs probe with a key in the environment.
func probed(ctx context.Context, key string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	env := func(name string) string { return map[string]string{keyVariable: key, "OTHER_KEY": key}[name] }
	code = Main(ctx, World{Args: append([]string{"probe"}, args...), Env: env, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err})
	return code, out.String(), err.String()
}

// TestProbeTiny: a right server is never called wrong, at any level, and the key
// reaches no output.
func TestProbeTiny(t *testing.T) {
	url, dir := serveTiny(t)
	folder := t.TempDir()
	page, suite, saved := filepath.Join(folder, "r.html"), filepath.Join(folder, "r.xml"), filepath.Join(folder, "run.json")
	code, stdout, stderr := probed(t.Context(), secretKey, url, "--full", "--html", page, "--junit", suite, "--oracle", dir)
	if code != exitSound && code != exitCantTell {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{"PROBING  " + url, "shakedown devel, tiny", "SENDING  default level, at most: ", "PROBES   ", "SENT     "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	jsonCode, stream, jsonErr := probed(t.Context(), secretKey, url+"/v1", "--json", "--quick", "--api-key-env", "OTHER_KEY")
	if jsonCode != exitSound && jsonCode != exitCantTell {
		t.Errorf("exit code %d\n%s", jsonCode, stream)
	}
	sent, bound := 0, 0
	var kinds []string
	err := finding.Decode(strings.NewReader(stream), func(m finding.Message) error {
		kinds = append(kinds, fmt.Sprintf("%T", m))
		switch m := m.(type) {
		case *finding.EndpointMsg:
			bound = m.Bound.Requests
		case *finding.ExchangeMsg:
			sent++
		case *finding.EndMsg:
			if m.ExitCode != jsonCode {
				t.Errorf("the end says %d, the process %d", m.ExitCode, jsonCode)
			}
		}
		return nil
	})
	if n := len(kinds); err != nil || n < 5 || kinds[0] != "*finding.ConfigMsg" || kinds[1] != "*finding.EndpointMsg" || kinds[n-1] != "*finding.EndMsg" || kinds[n-2] != "*finding.ConclusionMsg" {
		t.Errorf("%v, messages %v", err, kinds)
	}
	if sent == 0 || sent > bound || bound >= 12 {
		t.Errorf("quick: %d requests of at most %d", sent, bound)
	}
	if err := os.WriteFile(saved, []byte(stream), 0o600); err != nil {
		t.Fatal(err)
	}
	_, since, _ := probed(t.Context(), secretKey, url, "--quick", "--baseline", saved)
	if !strings.Contains(since, "SINCE    run.json, which ") || strings.Contains(since, "probe decode:") {
		t.Errorf("a second run against the first:\n%s", since)
	}
	stale, other, _ := probed(t.Context(), secretKey, url, "--quick", "--gentle", "--budget", "4 requests", "--expect", "model=another")
	if stale != exitProblem || !strings.Contains(other, "another") || !strings.Contains(other, "SENDING  quick level, gentle, at most: 4 requests;") {
		t.Errorf("not the server that was expected: exit code %d\n%s", stale, other)
	}
	wrong, denied, why := probed(t.Context(), secretKey+"x", url)
	if wrong != exitUnreadable || !strings.Contains(why, "key") {
		t.Errorf("with another key: %d %s", wrong, why)
	}
	for name, text := range map[string]string{"text": stdout, "stderr": stderr + jsonErr + why, "json": stream, "since": since, "denied": denied, "html": read(t, page), "junit": read(t, suite)} {
		if strings.Contains(text, secretKey) {
			t.Errorf("%s holds the key", name)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// broken is a server whose arithmetic is broken as NaN weights break it: it counts
// tokens and says nothing.
func broken(t *testing.T, posts *int) string {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"nobody"}]}`)
	})
	answer := func(choice string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			*posts++
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"x","model":"m","choices":[%s],"usage":{"prompt_tokens":5,"completion_tokens":8,"total_tokens":13}}`, choice)
		}
	}
	nan := `{"token":"!","logprob":null,"bytes":[33],"top_logprobs":[{"token":"!","logprob":null},{"token":"?","logprob":null}]}`
	all := strings.TrimSuffix(strings.Repeat(nan+",", 8), ",")
	mux.HandleFunc("POST /v1/chat/completions", answer(`{"index":0,"message":{"role":"assistant","content":"!!!!!!!!"},"logprobs":{"content":[`+all+`]},"finish_reason":"length"}`))
	mux.HandleFunc("POST /v1/completions", answer(`{"index":0,"text":"!!!!!!!!","logprobs":{"tokens":["!","!","!","!","!","!","!","!"],"token_logprobs":[null,null,null,null,null,null,null,null],"top_logprobs":[{"!":null},{"!":null},{"!":null},{"!":null},{"!":null},{"!":null},{"!":null},{"!":null}]},"finish_reason":"length"}`))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestProbeWrong(t *testing.T) {
	posts := 0
	url := broken(t, &posts)
	code, stdout, _ := probed(t.Context(), "", url, "--dry-run")
	if code != exitSound || posts > 0 || !strings.Contains(stdout, "POST /v1/chat/completions") || !strings.Contains(stdout, "Nothing was computed.") {
		t.Errorf("a dry run: exit code %d, %d requests to the model\n%s", code, posts, stdout)
	}
	code, stdout, stderr := probed(t.Context(), "", url, "--quick")
	for _, want := range []string{"FAIL", "WRONG: ", "CAUSE ", "engine not recognised"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if code != exitProblem || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	code, stdout, _ = probed(t.Context(), "", url, "--quick", "--markdown")
	if code != exitProblem || !strings.HasPrefix(stdout, "### WRONG") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	code, stdout, _ = probed(t.Context(), "", url, "--budget", "1 request", "--junit", "-")
	if code == exitSound || !strings.Contains(stdout, "<skipped ") {
		t.Errorf("nothing could be asked: exit code %d\n%s", code, stdout)
	}
}

// TestProbeBad: what is no server, or does not answer, in every format.
func TestProbeBad(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html><title>\x1b[31mGrafana</title></html>")
	}))
	defer page.Close()
	nothing := httptest.NewServer(http.NotFoundHandler())
	defer nothing.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + l.Addr().String()
	l.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	defer secure.Close()
	log := filepath.Join(t.TempDir(), "server.log")
	if err := os.WriteFile(log, []byte("INFO ready\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"a web page", []string{page.URL}, exitUnreadable, page.URL},
		{"no such path", []string{nothing.URL + "/prefix"}, exitUnreadable, "/prefix"},
		{"nobody there", []string{refused}, exitUnreadable, "refused"},
		{"an unknown signer", []string{secure.URL}, exitUnreadable, "--insecure"},
		{"any certificate", []string{secure.URL, "--insecure"}, exitUnreadable, secure.URL},
		{"no certificates", []string{secure.URL, "--cacert", log}, exitUnreadable, "certificate"},
		{"no address", []string{"ftp://x"}, exitUsage, "ftp"},
		{"a password in it", []string{"http://me:" + secretKey + "@127.0.0.1:1"}, exitUsage, "password"},
		{"no baseline", []string{refused, "--baseline", log}, exitUnreadable, "server.log: not a saved --json report"},
		{"no checkpoint", []string{refused, "--oracle", filepath.Dir(log)}, exitUnreadable, "config.json"},
		{"no model", []string{refused, "--model-dir", log + ".d"}, exitUnreadable, "server.log.d"},
		{"an unwritable page", []string{refused, "--html", log + "/x.html"}, exitFailed, "write the output"},
		{"the key as a flag", []string{refused, "--api-key=" + secretKey}, exitUsage, "--api-key-env"},
		{"the key for its name", []string{refused, "--api-key-env", secretKey}, exitUsage, "variable"},
		{"the key for its name, like one", []string{refused, "--api-key-env", strings.ReplaceAll(secretKey, "-", "_")}, exitUsage, "not set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := probed(t.Context(), "", c.args...)
			if code != c.code || !strings.Contains(stderr, c.want) || stdout != "" {
				t.Errorf("exit code %d, want %d and %q; stderr %q, stdout %q", code, c.code, c.want, stderr, stdout)
			}
			_, stream, more := probed(t.Context(), "", append(c.args, "--json")...)
			last := stream[strings.LastIndexByte(strings.TrimSpace(stream), '\n')+1:]
			var m finding.ErrorMsg
			if err := json.Unmarshal([]byte(last), &m); err != nil || m.Message != "error" || m.ExitCode != c.code {
				t.Errorf("%v: %s", err, stream)
			}
			for _, text := range []string{stdout, stderr, stream, more} {
				if strings.Contains(text, secretKey) || strings.Contains(text, strings.ReplaceAll(secretKey, "-", "_")) || strings.Contains(text, "\x1b") {
					t.Errorf("an output holds what it must not: %q", text)
				}
			}
		})
	}
	code, document, _ := probed(t.Context(), "", refused, "--markdown")
	if code != exitUnreadable || !strings.HasPrefix(document, "**Error**") {
		t.Errorf("markdown: exit code %d, %q", code, document)
	}
}

// TestProbeInterrupted: a server that takes requests and never answers, and a user
// who does not wait for it.
func TestProbeInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	release := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		interrupt()
		<-release
	}))
	defer hang.Close()
	defer close(release)
	if code, _, _ := probed(ctx, "", hang.URL); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

func TestProbeTimeout(t *testing.T) {
	release := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hang.Close()
	defer close(release)
	if code, _, stderr := probed(t.Context(), "", hang.URL, "--timeout", "50ms"); code != exitUnreadable || !strings.Contains(stderr, "does not answer") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

func TestProbeOptions(t *testing.T) {
	now := time.Date(2026, 2, 19, 12, 0, 0, 0, time.UTC)
	w, _, _ := newWorld()
	var got *probeOptions
	cmd := newProbeCmd(w, func(_ context.Context, o *probeOptions) error { got = o; return nil })
	args := []string{"http://h:1", "--thorough", "--gentle", "--budget", "40 requests, 2000 tokens,60s", "--expect", "model=a=b", "--expect", "context=4096", "--expect", "started=2026-02-19T00:19:00Z", "--timeout", "5s"}
	if err := execute(cmd, args...); err != nil {
		t.Fatal(err)
	}
	want := probe.Expected{Model: "a=b", Context: 4096, StartedAfter: time.Date(2026, 2, 19, 0, 19, 0, 0, time.UTC).Unix()}
	if diff := cmp.Diff(want, got.expected); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(prober.Budget{Requests: 40, Tokens: 2000, Time: time.Minute}, got.bounds); diff != "" {
		t.Error(diff)
	}
	if got.level() != probe.Thorough || !got.gentle || got.timeout != 5*time.Second || got.keyFrom != keyVariable {
		t.Errorf("%+v", got)
	}
	if e, err := parseExpected([]string{"started=10m", "engine=vllm", "version=0.24"}, now); err != nil || e.StartedAfter != now.Add(-10*time.Minute).Unix() || e.Engine != "vllm" || e.Version != "0.24" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestProbeRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"":                                    "takes one address, got 0 arguments",
		"u v":                                 "takes one address, got 2 arguments",
		"u --quick --thorough":                "only one of --quick and --thorough",
		"u --timeout -1s":                     "is negative",
		"u --insecure --cacert f":             "accepts any certificate",
		"u --against-key-env K":               "is missing",
		"u --json --markdown":                 "can have standard output",
		"u --html - --junit -":                "can have standard output",
		"u --dry-run --markdown":              "judges nothing",
		"u --budget many":                     "is no limit",
		"u --budget 0requests":                "is nothing",
		"u --budget 1request,2s,3s":           "limits the same again",
		"u --budget 9tokens,1token":           "limits the same again",
		"u --budget -5s":                      "is no limit",
		"u --expect model":                    "want KEY=VALUE",
		"u --expect gpu=8":                    "none of model, engine",
		"u --expect context=x":                "number of tokens",
		"u --expect started=noon":             "want a time",
		"u --expect model=a --expect model=b": "given twice",
		"u --color red":                       "none of auto",
	} {
		w, _, _ := newWorld()
		cmd := newProbeCmd(w, func(context.Context, *probeOptions) error { t.Errorf("%s ran", args); return nil })
		err := execute(cmd, strings.Fields(args)...)
		if err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != exitUsage {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// TestProbeKeysStay: a key goes to the server that it is for and to no other one,
// and the keys that a server tells of itself reach no output.
func TestProbeKeysStay(t *testing.T) {
	keys := map[string]map[string]bool{"first": {}, "second": {}}
	var mu sync.Mutex
	server := func(name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			keys[name][r.Header.Get("Authorization")] = true
			mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			switch r.URL.Path {
			case "/v1/models":
				io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"sglang","root":"m","max_model_len":4096}]}`)
			case "/server_info", "/get_server_info":
				io.WriteString(w, `{"version":"0.5.9","api_key":"sk-of-the-server-4711","admin_api_key":"admin-4712-secret","launch_command":"python -m sglang.launch_server --api-key sk-of-the-server-4711","internal_states":[{"hf_token":"hf_abcdefghijklmnopqrstuvwxyz01234567"}]}`)
			default:
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprintf(w, `{"object":"error","message":"not with key %s","code":503}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			}
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	first, second := server("first"), server("second")
	page := filepath.Join(t.TempDir(), "r.html")
	_, stream, stderr := probed(t.Context(), secretKey, first, "--quick", "--against", second, "--json", "--html", page)
	_, text, _ := probed(t.Context(), secretKey, first, "--quick", "--full")
	if diff := cmp.Diff(map[string]map[string]bool{"first": {"Bearer " + secretKey: true}, "second": {"": true}}, keys); diff != "" {
		t.Errorf("keys that the servers saw (-want +got):\n%s", diff)
	}
	probed(t.Context(), secretKey, first, "--quick", "--against", second, "--against-key-env", "OTHER_KEY")
	if !keys["second"]["Bearer "+secretKey] {
		t.Error("the second server did not get the key that was named for it")
	}
	for name, out := range map[string]string{"json": stream, "text": text, "stderr": stderr, "html": read(t, page)} {
		for _, secret := range []string{secretKey, "sk-of-the-server", "admin-4712", "hf_abc"} {
			if strings.Contains(out, secret) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
	}
	if !strings.Contains(stream, `"engine":"sglang"`) {
		t.Errorf("the engine was not recognised: %s", stream)
	}
}
