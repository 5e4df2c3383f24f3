package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/probe"
)

// maxGets bounds the requests of Identify.
const maxGets = 4

// visit is one identification on its way.
type visit struct {
	s         *Server
	t         *probe.Target
	settings  []finding.SettingMsg
	exchanges []probe.Exchange
}

// Identify asks the server who it is, with GETs alone and at most four of them: the
// list of models, and then what the engine has beside it. The settings are those in
// effect, under the engine's own names. The error is an *Error, and then what is
// known of the server is told all the same.
func (s *Server) Identify(ctx context.Context) (*probe.Target, []finding.SettingMsg, []probe.Exchange, error) {
	v := &visit{s: s, t: &probe.Target{URL: s.root, Sources: map[string]string{}, Settings: map[string]string{}}}
	err := v.identify(ctx)
	d := dialectOf(v.t.Engine)
	version, _ := flags.ParseVersion(v.t.Version) // unknown: the zero Version
	v.t.Has = d.features(version)
	if err != nil {
		return v.t, v.settings, v.exchanges, err
	}
	return v.t, v.settings, v.exchanges, nil
}

func (v *visit) identify(ctx context.Context) error {
	rep := v.get(ctx, "/v1/models")
	if err := v.s.reachable(rep); err != nil {
		return err
	}
	if rep.status != http.StatusOK {
		return v.noModels(ctx, rep)
	}
	if err := v.models(rep); err != nil {
		return err
	}
	if d := identifiers[v.t.Engine]; d != nil {
		d(ctx, v)
		return nil
	}
	v.guess(ctx)
	return nil
}

// get asks for one path and records the exchange. Settings may hold keys of the
// server's own.
func (v *visit) get(ctx context.Context, path string) *reply {
	c := &call{s: v.s, method: http.MethodGet, path: path, timeout: min(v.s.timeout, settingsTimeout)}
	rep := c.send(ctx)
	failure, words := rep.failure, rep.text
	if failure == probe.None && rep.status != http.StatusOK {
		failure, words = probe.Status, v.s.key.hideText(errorWords(rep))
	}
	rep.kept = []byte(hideSettings(string(rep.kept)))
	v.exchanges = append(v.exchanges, exchangeOf(c, rep, &probe.Ask{Label: "who are you"}, &probe.Answer{Failure: failure, Error: words}))
	return rep
}

// left says whether another GET is within the bound.
func (v *visit) left() bool { return len(v.exchanges) < maxGets }

// object asks for a path that answers with a JSON object; nil when it does not.
func (v *visit) object(ctx context.Context, path string) map[string]json.RawMessage {
	if !v.left() {
		return nil
	}
	rep := v.get(ctx, path)
	if rep.failure != probe.None || rep.status != http.StatusOK {
		return nil
	}
	var m map[string]json.RawMessage
	if _, err := readJSON(rep.body, &m); err != nil {
		return nil
	}
	return m
}

// told notes a number that the server tells, and where.
func (v *visit) told(field string, to *int, data json.RawMessage, source string) {
	var n float64
	if len(data) == 0 || json.Unmarshal(data, &n) != nil || n < 1 || n > maxNumber {
		return
	}
	*to = int(n)
	v.t.Sources[field] = source
}

// maxNumber bounds what is believed: no pool of today has more tokens, and times
// are in seconds.
const maxNumber = 1 << 34

// toldText is told for texts.
func (v *visit) toldText(field string, to *string, data json.RawMessage, source string) {
	var s string
	if len(data) == 0 || json.Unmarshal(data, &s) != nil || s == "" {
		return
	}
	*to = clip(s, maxName)
	v.t.Sources[field] = source
}

// maxName bounds names and versions, in bytes.
const maxName = 1000

// models reads the list of models.
func (v *visit) models(rep *reply) error {
	type card struct {
		ID      string          `json:"id"`
		Owner   string          `json:"owned_by"`
		Root    string          `json:"root"`
		Parent  *string         `json:"parent"`
		Created json.RawMessage `json:"created"`
		Context json.RawMessage `json:"max_model_len"`
		Meta    struct {
			Context json.RawMessage `json:"n_ctx"`
			Trained json.RawMessage `json:"n_ctx_train"`
			Vocab   json.RawMessage `json:"n_vocab"`
		} `json:"meta"`
	}
	var list struct {
		Data json.RawMessage `json:"data"`
	}
	var cards []card
	if _, err := readJSON(rep.body, &list); err != nil || !bytes.HasPrefix(list.Data, []byte("[")) {
		return v.s.notServer(rep)
	}
	if _, err := readJSON(list.Data, &cards); err != nil {
		return v.s.notServer(rep)
	}
	if len(cards) == 0 {
		return &Error{Reason: NoModels, URL: v.s.root, Status: rep.status, Text: "the server lists no model", Next: "It may still be loading, or be a router without a worker: look into its log, or ask again with curl " + v.s.root + "/v1/models"}
	}
	pick := -1
	var names []string
	for i, c := range cards {
		if len(names) < 20 {
			names = append(names, clip(c.ID, 200))
		}
		switch {
		case v.s.model != "" && c.ID == v.s.model:
			pick = i
		case v.s.model == "" && pick < 0 && (c.Parent == nil || *c.Parent == ""):
			pick = i
		}
	}
	if v.s.model == "" && pick < 0 {
		pick = 0
	}
	if pick < 0 {
		return &Error{Reason: NoModels, URL: v.s.root, Status: rep.status, Text: fmt.Sprintf("the server has no model %q", clip(v.s.model, 200)), Next: "It serves: " + strings.Join(names, ", ") + ". Give one of these with --model."}
	}
	c := cards[pick]
	if c.ID == "" {
		return v.s.notServer(rep)
	}
	t := v.t
	t.Model, t.Engine = clip(c.ID, maxName), owners[strings.ToLower(c.Owner)]
	t.Sources["Model"] = "/v1/models data[].id"
	if t.Engine != "" {
		t.Sources["Engine"] = "/v1/models data[].owned_by"
	}
	if c.Root != "" {
		t.Root = clip(c.Root, maxName)
		t.Sources["Root"] = "/v1/models data[].root"
	}
	v.told("Context", &t.Context, c.Context, "/v1/models data[].max_model_len")
	v.told("Context", &t.Context, c.Meta.Context, "/v1/models data[].meta.n_ctx")
	v.told("Trained", &t.Trained, c.Meta.Trained, "/v1/models data[].meta.n_ctx_train")
	v.told("Vocab", &t.Vocab, c.Meta.Vocab, "/v1/models data[].meta.n_vocab")
	if t.Engine == "shakedown" { // the others tell the time of the request
		n := 0
		v.told("Started", &n, c.Created, "/v1/models data[].created")
		t.Started = int64(n)
	}
	return nil
}

// owners are the words of /v1/models for an engine.
var owners = map[string]string{
	"sglang": "sglang", "vllm": "vllm", "llamacpp": "llamacpp", "llama.cpp": "llamacpp", "tensorrt_llm": "trtllm", "tensorrt-llm": "trtllm",
	"lmdeploy": "lmdeploy", "library": "ollama", "shakedown": "shakedown",
}

// identifiers read what an engine tells of itself beside /v1/models.
var identifiers = map[string]func(context.Context, *visit){
	"sglang": sglangInfo, "vllm": vllmInfo, "llamacpp": llamacppInfo, "trtllm": versionInfo("/version"), "lmdeploy": func(context.Context, *visit) {},
	"ollama": versionInfo("/api/version"), "shakedown": shakedownInfo,
}

// guess looks for what only one engine has, where the list of models does not say.
func (v *visit) guess(ctx context.Context) {
	if m := v.object(ctx, "/get_server_info"); m["max_total_num_tokens"] != nil || m["served_model_name"] != nil {
		v.t.Engine = "sglang"
		v.t.Sources["Engine"] = "/get_server_info"
		v.sglangArgs(m, "/get_server_info")
		return
	}
	if m := v.object(ctx, "/props"); m["default_generation_settings"] != nil {
		v.t.Engine = "llamacpp"
		v.t.Sources["Engine"] = "/props"
		v.llamacppProps(m)
		return
	}
	if m := v.object(ctx, "/version"); m["version"] != nil {
		// Several engines answer here, so it names none.
		v.toldText("Version", &v.t.Version, m["version"], "/version version")
	}
}

// versionInfo reads {"version": ...}.
func versionInfo(path string) func(context.Context, *visit) {
	return func(ctx context.Context, v *visit) {
		m := v.object(ctx, path)
		v.toldText("Version", &v.t.Version, m["version"], path+" version")
	}
}

// reachable turns a failed connection into an error with a way on.
func (s *Server) reachable(rep *reply) error {
	e := &Error{URL: s.root, Err: rep.err, Status: rep.status}
	if text, next, is := tlsTroubleOf(rep.err); is {
		e.Reason, e.Text, e.Next = BadTLS, text, next
		return e
	}
	switch rep.failure {
	case probe.None:
		return nil
	case probe.Refused:
		e.Reason = Unreachable
		e.Text, e.Next = s.noConnection(rep)
	case probe.TimedOut:
		e.Reason, e.Text, e.Next = Unreachable, "the server takes the connection and does not answer", "It may be loading, or hang: look into its log, and ask by hand with curl -m 20 "+s.root+"/v1/models"
	case probe.Reset:
		e.Reason, e.Text = Unreachable, "the server closes the connection without an answer ("+rep.text+")"
		e.Next = "It may speak TLS on this port: try https://, or ask by hand with curl -v " + s.root + "/v1/models"
	case probe.NotSent:
		e.Reason, e.Text, e.Next = Unreachable, rep.text, ""
	default:
		e.Reason, e.Text = NotServer, "no HTTP server that speaks the API of OpenAI: "+rep.text
		e.Next = "Check the port; the engine's log names it when it is ready."
	}
	return e
}

func tlsTroubleOf(err error) (text, next string, is bool) {
	if err == nil {
		return "", "", false
	}
	return tlsTrouble(err)
}

// noConnection says why there is none.
func (s *Server) noConnection(rep *reply) (text, next string) {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(rep.err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("there is no host %q", dns.Name), "Check the spelling, or give the address in numbers."
	case errors.As(rep.err, &dns):
		return fmt.Sprintf("the name %q could not be looked up: %s", dns.Name, dns.Err), "Check this machine's DNS, or give the address in numbers."
	case strings.Contains(rep.text, "refused"):
		return "nothing listens there (connection refused)", "Start the server, or check the port: an engine opens it when the model is loaded, which can take minutes. From within a container, 127.0.0.1 is the container itself."
	case errors.As(rep.err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no connection within %s", connectTimeout), "A firewall or a wrong address drops the packets: check both, for example with curl -m 10 -v " + s.root + "/v1/models"
	}
	return "no connection: " + rep.text, "Check the address: curl -m 10 -v " + s.root + "/v1/models"
}

// noModels says what an error status on the list of models means.
func (v *visit) noModels(ctx context.Context, rep *reply) error {
	s := v.s
	words := s.key.hideText(errorWords(rep))
	e := &Error{URL: s.root, Status: rep.status}
	switch {
	case rep.status == http.StatusUnauthorized || rep.status == http.StatusForbidden:
		e.Reason = Denied
		if s.key.IsZero() {
			e.Text = fmt.Sprintf("the server asks for a key (HTTP %d)", rep.status)
			e.Next = "Put it into the variable SHAKEDOWN_API_KEY, or into another one and name that: --api-key-env NAME."
		} else {
			e.Text = fmt.Sprintf("the server does not accept the key (HTTP %d)", rep.status)
			e.Next = "Check that the variable holds the key that the server was started with (--api-key), and nothing else."
		}
	case rep.status == http.StatusServiceUnavailable || rep.status == http.StatusTooManyRequests || strings.Contains(strings.ToLower(words), "loading model"):
		e.Reason, e.Text = NotReady, fmt.Sprintf("the server is not ready (HTTP %d: %s)", rep.status, clip(words, 200))
		e.Next = "Wait until its log says that it is ready, then probe again."
	case rep.status >= 300 && rep.status < 400:
		to := clip(s.key.hideText(rep.header.Get("Location")), 200)
		e.Reason, e.Text = WrongPath, fmt.Sprintf("the server sends elsewhere (HTTP %d to %s), which is not followed: a key must not travel on", rep.status, to)
		e.Next = "If you trust it, probe that address itself."
	case strings.Contains(words, "HTTP request to an HTTPS server") || strings.Contains(words, "plain HTTP request was sent to HTTPS port"):
		e.Reason, e.Text, e.Next = BadTLS, "the server speaks TLS on this port", "Write https:// in place of http://."
	case rep.status == http.StatusNotFound || rep.status == http.StatusMethodNotAllowed:
		return v.wrongPath(ctx, rep)
	case rep.status >= 500:
		e.Reason, e.Text = NotServer, fmt.Sprintf("the server fails on the list of its models (HTTP %d: %s)", rep.status, clip(words, 200))
		e.Next = "Look into its log, or into that of the proxy in front of it."
	default:
		return s.notServer(rep)
	}
	return e
}

// wrongPath looks where else the API might be.
func (v *visit) wrongPath(ctx context.Context, rep *reply) error {
	s := v.s
	e := &Error{Reason: WrongPath, URL: s.root, Status: rep.status}
	scheme, rest, _ := strings.Cut(s.root, "://")
	if name, path, ok := strings.Cut(rest, "/"); ok {
		host := scheme + "://" + name
		up := *s
		up.root = host
		u := &visit{s: &up}
		again := u.get(ctx, "/v1/models")
		v.exchanges = append(v.exchanges, u.exchanges...)
		if again.failure == probe.None && again.status == http.StatusOK && strings.Contains(string(again.body), `"data"`) {
			e.Text = fmt.Sprintf("there is no API below /%s", path)
			e.Next = "It is at " + host + ": shakedown probe " + host
			return e
		}
	}
	home := &visit{s: s}
	front := home.get(ctx, "/")
	v.exchanges = append(v.exchanges, home.exchanges...)
	what := "something else"
	if front.failure == probe.None {
		if t := htmlTitle(front.body); t != "" {
			what = "a web page, " + t
		} else if n := front.header.Get("Server"); n != "" {
			what = "a server that calls itself " + clip(s.key.hideText(n), 80)
		}
		if strings.Contains(string(front.body), "Ollama is running") {
			what = "an old Ollama"
		}
	}
	e.Text = fmt.Sprintf("no API of OpenAI there: /v1/models is not found (HTTP %d), and %s answers", rep.status, what)
	e.Next = "Give the address in front of /v1, with the path that a proxy adds (http://HOST:PORT/PATH), and check the port: curl " + s.root + "/v1/models"
	return e
}

// notServer says what answered in place of a list of models.
func (s *Server) notServer(rep *reply) error {
	e := &Error{Reason: NotServer, URL: s.root, Status: rep.status}
	what := ""
	body := strings.TrimSpace(string(rep.body))
	switch t := htmlTitle(rep.body); {
	case t != "":
		what = "a web page, " + t
	case body == "":
		what = "nothing"
	default:
		what = clip(strings.Join(strings.Fields(body), " "), 120)
	}
	if n := rep.header.Get("Server"); n != "" {
		what += " (from " + clip(s.key.hideText(n), 80) + ")"
	}
	e.Text = fmt.Sprintf("no server that speaks the API of OpenAI: on /v1/models it answers HTTP %d with %s", rep.status, what)
	e.Next = "Check host and port: the engine's log names them when it is ready. If a proxy stands in front, give the path that it adds."
	return e
}
