package endpoint_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"shakedown/internal/endpoint"
)

func TestAddress(t *testing.T) {
	for _, tc := range []struct{ given, want string }{
		{"http://host:8000", "http://host:8000"},
		{"http://host:8000/", "http://host:8000"},
		{" http://host:8000/v1\n", "http://host:8000"},
		{"http://host:8000/v1/", "http://host:8000"},
		{"http://host:8000/v1/chat/completions", "http://host:8000"},
		{"http://host:8000/v1/models", "http://host:8000"},
		{"https://host/a/b/v1", "https://host/a/b"},
		{"https://host/a%20b/", "https://host/a%20b"},
		{"http://[::1]:30000", "http://[::1]:30000"},
		{"localhost:30000", "http://localhost:30000"},
		{"10.0.0.7:8000/v1", "http://10.0.0.7:8000"},
	} {
		s, err := endpoint.New(tc.given, endpoint.Options{})
		if err != nil {
			t.Errorf("%q: %v", tc.given, err)
		} else if s.URL() != tc.want {
			t.Errorf("%q is %s, want %s", tc.given, s.URL(), tc.want)
		}
	}
	for _, tc := range []struct{ given, words string }{
		{"", "no address"}, {"http://", "no host"}, {"http:///v1", "no host"}, {"ftp://host", "ftp://"}, {"unix:///run/x.sock", "unix://"},
		{"http://host:99999", "port 99999"}, {"http://host:0", "port 0"}, {"http://host:", "no port"}, {"http://ho st", "white space"},
		{"http://user:hidden@host", "user name or password"}, {"http://host?key=hidden", "query"}, {"http://host#x", "fragment"}, {"http://%zz", "no address"}, {"http://[::1", "no address"},
	} {
		_, err := endpoint.New(tc.given, endpoint.Options{})
		var e *endpoint.Error
		if !errors.As(err, &e) || e.Reason != endpoint.BadURL || !strings.Contains(e.Text, tc.words) || e.Next == "" || strings.Contains(err.Error()+e.Next, "hidden") {
			t.Errorf("%q: %v, want ...%s...", tc.given, err, tc.words)
		}
	}
	var e *endpoint.Error
	if _, err := endpoint.New("http://host", endpoint.Options{Key: endpoint.NewKey("two\nlines")}); !errors.As(err, &e) || e.Reason != endpoint.BadKey || strings.Contains(err.Error(), "lines") {
		t.Errorf("%v", err)
	}
	if _, err := endpoint.New("https://host", endpoint.Options{CA: []byte("nothing")}); !errors.As(err, &e) || e.Reason != endpoint.BadTLS {
		t.Errorf("%v", err)
	}
}

// trouble is the error of an Identify that must fail.
func trouble(t *testing.T, url string, o endpoint.Options) *endpoint.Error {
	t.Helper()
	s, err := endpoint.New(url, o)
	if err != nil {
		t.Fatal(err)
	}
	target, _, exchanges, err := s.Identify(t.Context())
	var e *endpoint.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: no error of this package: %v", url, err)
	}
	if target == nil || len(exchanges) == 0 || len(exchanges) > 4 {
		t.Errorf("%s: target %v, %d exchanges", url, target, len(exchanges))
	}
	return e
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, code) }
}

// TestTrouble: why a server can't be probed, and what to do.
func TestTrouble(t *testing.T) {
	for _, tc := range []struct {
		name        string
		answer      http.HandlerFunc
		key         string
		reason      endpoint.Reason
		words, next string
	}{
		{"no key", status(401, `{"error":"Unauthorized"}`), "", endpoint.Denied, "asks for a key (HTTP 401)", "--api-key-env"},
		{"wrong key", status(403, `{"error":"Forbidden"}`), "sk-wrong-key", endpoint.Denied, "does not accept the key (HTTP 403)", "--api-key"},
		{"loading", status(503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`), "", endpoint.NotReady, "Loading model", "Wait"},
		{"a page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Server", "nginx/1.24")
			io.WriteString(w, "<html><title>Welcome to nginx!</title></html>")
		}, "", endpoint.NotServer, `"Welcome to nginx!" (from nginx/1.24)`, "port"},
		{"a page and 404", status(404, "<html><head><title>404 Not Found</title></head></html>"), "", endpoint.WrongPath, `"404 Not Found"`, "/v1"},
		{"404 everywhere", status(404, `{"detail":"Not Found"}`), "", endpoint.WrongPath, "HTTP 404", "/v1"},
		{"another API", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"data":"metrics"}`) }, "", endpoint.NotServer, `{"data":"metrics"}`, "port"},
		{"a list of something", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"data":[{"x":1}]}`) }, "", endpoint.NotServer, "HTTP 200", "port"},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, "", endpoint.NotServer, "nothing", "port"},
		{"broken proxy", status(502, "<html><title>502 Bad Gateway</title>"), "", endpoint.NotServer, "HTTP 502", "proxy"},
		{"TLS behind http", status(400, "Client sent an HTTP request to an HTTPS server.\n"), "", endpoint.BadTLS, "speaks TLS", "https://"},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", endpoint.Unreachable, "closes the connection", "https://"},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "", endpoint.Unreachable, "does not answer", "curl"},
	} {
		h := httptest.NewServer(tc.answer)
		o := endpoint.Options{Key: endpoint.NewKey(tc.key)}
		if tc.name == "hangs" {
			o.Timeout = 300 * time.Millisecond
		}
		e := trouble(t, h.URL, o)
		if e.Reason != tc.reason || !strings.Contains(e.Text, tc.words) || !strings.Contains(e.Next, tc.next) || strings.HasSuffix(e.Text, ".") {
			t.Errorf("%s: %s: %s | %s\nwant %s: ...%s... | ...%s...", tc.name, e.Reason, e.Text, e.Next, tc.reason, tc.words, tc.next)
		}
		h.Close()
	}
}

// TestPrefix: an API below a path is found where it is, and named when it is not.
func TestPrefix(t *testing.T) {
	h := httptest.NewServer(answers(map[string]string{"/llm/v1/models": `{"data":[{"id":"m","owned_by":"lmdeploy"}]}`}))
	defer h.Close()
	if target, _ := identify(t, h.URL+"/llm/v1"); target.Engine != "lmdeploy" || target.URL != h.URL+"/llm" {
		t.Errorf("%+v", target)
	}
	top := httptest.NewServer(answers(map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"lmdeploy"}]}`}))
	defer top.Close()
	if e := trouble(t, top.URL+"/api", endpoint.Options{}); e.Reason != endpoint.WrongPath || !strings.Contains(e.Next, "shakedown probe "+top.URL) {
		t.Errorf("%+v", e)
	}
}

// TestUnreachable: connections that do not come about.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if e := trouble(t, "http://"+l.Addr().String(), endpoint.Options{}); e.Reason != endpoint.Unreachable || !strings.Contains(e.Text, "connection refused") || !strings.Contains(e.Next, "port") {
		t.Errorf("%+v", e)
	}
	for _, tc := range []struct {
		err   error
		words string
	}{
		{&net.DNSError{Err: "no such host", Name: "nowhere.invalid", IsNotFound: true}, `no host "nowhere.invalid"`},
		{&net.DNSError{Err: "server misbehaving", Name: "nowhere.invalid"}, "could not be looked up"},
		{errors.New("network is unreachable"), "network is unreachable"},
	} {
		fails := transport(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: tc.err}
		})
		if e := trouble(t, "http://nowhere.invalid", endpoint.Options{Transport: fails}); e.Reason != endpoint.Unreachable || !strings.Contains(e.Text, tc.words) || e.Next == "" {
			t.Errorf("%v: %+v", tc.err, e)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTLS: certificates that are not trusted, and ways to trust them.
func TestTLS(t *testing.T) {
	h := httptest.NewUnstartedServer(answers(map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"lmdeploy"}]}`}))
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.StartTLS()
	defer h.Close()
	if e := trouble(t, h.URL, endpoint.Options{}); e.Reason != endpoint.BadTLS || !strings.Contains(e.Text, "signed by nobody") || !strings.Contains(e.Next, "--ca") {
		t.Errorf("%+v", e)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	for name, o := range map[string]endpoint.Options{"trusted": {CA: ca}, "insecure": {Insecure: true}} {
		s, err := endpoint.New(h.URL, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := s.Identify(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(h.URL, "https://"), ":")
	dial := &http.Transport{TLSClientConfig: &tls.Config{ServerName: "other.invalid", RootCAs: pool(h)}}
	if e := trouble(t, "https://127.0.0.1:"+port, endpoint.Options{Transport: dial}); e.Reason != endpoint.BadTLS || !strings.Contains(e.Text, "for another name") {
		t.Errorf("%+v", e)
	}
	plain := httptest.NewServer(answers(nil))
	defer plain.Close()
	if e := trouble(t, strings.Replace(plain.URL, "http:", "https:", 1), endpoint.Options{}); e.Reason != endpoint.BadTLS || !strings.Contains(e.Next, "http://") {
		t.Errorf("%+v", e)
	}
	if e := trouble(t, strings.Replace(h.URL, "https:", "http:", 1), endpoint.Options{}); e.Reason != endpoint.BadTLS || !strings.Contains(e.Next, "https://") {
		t.Errorf("%+v", e)
	}
}

func pool(h *httptest.Server) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(h.Certificate())
	return p
}
