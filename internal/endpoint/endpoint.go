package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options say how a server is reached. The zero value is usable.
type Options struct {
	Key   Key
	Model string // name that requests carry; empty: the server's first
	// Timeout bounds one request from its beginning to the end of its answer, Idle
	// the time between two parts of a stream. 0: the defaults.
	Timeout, Idle time.Duration
	Now           func() time.Time // for durations; nil: time.Now
	Insecure      bool             // any certificate is accepted
	CA            []byte           // certificates in PEM that are trusted as well
	// Transport, if not nil, takes the place of the own one; Insecure and CA are
	// then its business.
	Transport http.RoundTripper
}

// Bounds of one request, beside Options.Timeout and Options.Idle.
const (
	// DefaultTimeout is enough for 1,000 tokens at 10 a second.
	DefaultTimeout = 2 * time.Minute
	// DefaultIdle: real servers send the first part of a stream when the prompt is
	// computed, which may take that long, and each other one within seconds.
	DefaultIdle    = time.Minute
	connectTimeout = 10 * time.Second
	// settingsTimeout is for the GETs of Identify: nothing has to be computed.
	settingsTimeout = 20 * time.Second
	maxHeaders      = 64 << 10
	// maxAnswer holds 2,000 tokens with 20 alternatives each, or the settings of any
	// engine, ten times over.
	maxAnswer = 8 << 20
	// keepAnswer is what an exchange keeps of an answer.
	keepAnswer = 16 << 10
)

// Server is one server that is probed. It is safe for concurrent use.
type Server struct {
	root    string // scheme, host and prefix, without a slash at the end and without /v1
	key     Key
	model   string
	client  *http.Client
	timeout time.Duration
	idle    time.Duration
	now     func() time.Time
	salt    func() string
}

// New prepares a server at base, which may end in /v1 and have a path before
// it. Nothing is sent. The error is an *Error.
func New(base string, o Options) (*Server, error) {
	root, err := rootOf(base)
	if err != nil {
		return nil, err
	}
	s := &Server{root: root, key: o.Key, model: o.Model, timeout: o.Timeout, idle: o.Idle, now: o.Now, salt: newSalt}
	if s.timeout <= 0 {
		s.timeout = DefaultTimeout
	}
	if s.idle <= 0 {
		s.idle = DefaultIdle
	}
	if s.now == nil {
		s.now = time.Now
	}
	if strings.ContainsAny(o.Key.secret, "\r\n\x00") {
		return nil, &Error{Reason: BadKey, URL: root, Text: "the key has a line end inside", Next: "Give a file or variable that holds the key alone, on one line."}
	}
	transport := o.Transport
	if transport == nil {
		if transport, err = newTransport(root, o); err != nil {
			return nil, err
		}
	}
	s.client = &http.Client{
		Transport: transport,
		// A key must not travel to where somebody else's answer points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

// URL is the server's address without /v1.
func (s *Server) URL() string { return s.root }

func newTransport(root string, o Options) (http.RoundTripper, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure}
	if len(o.CA) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(o.CA) {
			return nil, &Error{Reason: BadTLS, URL: root, Text: "the file of certificates holds none", Next: "Give a file in PEM form: it has lines -----BEGIN CERTIFICATE-----."}
		}
		config.RootCAs = pool
	}
	// No proxy of the environment: what is asked is what the command names.
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: connectTimeout,
		// A compressed answer of a megabyte can hold a thousand of them.
		DisableCompression: true,
		// Servers close idle connections after a few seconds, and a request that meets
		// that moment looks like a server that broke off.
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxHeaders,
	}, nil
}

// rootOf checks an address and takes the API's own path off it.
func rootOf(base string) (string, error) {
	text := strings.TrimSpace(base)
	bad := func(what, next string) (string, error) {
		return "", &Error{Reason: BadURL, URL: shownURL(text), Text: what, Next: next}
	}
	const form = "Give the address as http://HOST:PORT, for example http://127.0.0.1:8000."
	if text == "" {
		return bad("no address was given", form)
	}
	if strings.ContainsAny(text, " \t\r\n") {
		return bad("the address has white space inside", form)
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return bad("this is no address", form)
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("an address with "+u.Scheme+":// can't be probed", "Give the server's HTTP port: http://HOST:PORT.")
	case u.User != nil:
		return bad("the address holds a user name or password, which would show in every report", "Pass the key by itself and leave it out of the address.")
	case u.Hostname() == "":
		return bad("the address has no host", form)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return bad("the address has a query or a fragment", "Leave out everything from ? or # on.")
	case strings.HasSuffix(u.Host, ":"):
		return bad("the address has no port behind its colon", form)
	}
	if p := u.Port(); p != "" {
		if n, err := net.LookupPort("tcp", p); err != nil || n == 0 {
			return bad("port "+p+" does not exist", form)
		}
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	for _, end := range []string{"/chat/completions", "/completions", "/models"} {
		if cut, ok := strings.CutSuffix(path, "/v1"+end); ok {
			path = cut + "/v1"
		}
	}
	path = strings.TrimRight(strings.TrimSuffix(path, "/v1"), "/")
	return u.Scheme + "://" + u.Host + path, nil
}

// shownURL is an address as it may be printed: without what may be a secret.
func shownURL(text string) string {
	text, _, _ = strings.Cut(text, "?")
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		scheme, _, ok := strings.Cut(text, "://")
		if ok && at > len(scheme) {
			return scheme + "://" + text[at+1:]
		}
		return text[at+1:]
	}
	return text
}
