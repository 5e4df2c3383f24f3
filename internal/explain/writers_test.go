package explain

import (
	"context"
	"io"
	"strings"
	"testing"

	"shakedown/internal/finding"
	"shakedown/internal/logstream"
)

// recorder keeps the files of the launches in their order.
type recorder struct{ files []string }

func (r *recorder) Handle(m finding.Message) error {
	if l, ok := m.(*finding.LaunchMsg); ok {
		r.files = append(r.files, strings.Join(l.Files, "+")+" "+string(l.Outcome))
	}
	return nil
}

func (*recorder) Close() error { return nil }

// TestSideBySide: of servers that share a log, one that failed decides, wherever
// its lines stand.
func TestSideBySide(t *testing.T) {
	good := []string{
		"INFO 05-03 08:00:00 [api_server.py:1839] vLLM API server version 0.12.0",
		"INFO 05-03 08:00:01 [utils.py:253] non-default args: {'model': '/models/orca-7b'}",
		"INFO:     Application startup complete.",
		`INFO:     10.0.0.5:50220 - "POST /v1/completions HTTP/1.1" 200 OK`,
	}
	bad := []string{
		"INFO 05-03 08:00:00 [api_server.py:1839] vLLM API server version 0.12.0",
		"INFO 05-03 08:00:01 [utils.py:253] non-default args: {'model': '/models/orca-7b'}",
		"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
	}
	mixed := func(services map[string][]string, order ...string) string {
		var b strings.Builder
		for _, name := range order {
			b.WriteString(name + "  | " + strings.Join(services[name], "\n"+name+"  | ") + "\n")
		}
		return b.String()
	}
	services := map[string][]string{"good-1": good, "evil-1": bad}
	for _, log := range []string{mixed(services, "good-1", "evil-1"), mixed(services, "evil-1", "good-1")} {
		var rec recorder
		src := logstream.Source{Name: "all.log", Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil }}
		res, err := Run(t.Context(), Options{Sources: []logstream.Source{src}}, &rec)
		if err != nil {
			t.Fatal(err)
		}
		want := "all.log[good-1] ok, all.log[evil-1] failed"
		if got := strings.Join(rec.files, ", "); got != want || res.Last == Healthy {
			t.Errorf("got %s (verdict %d), want %s", got, res.Last, want)
		}
	}
}
