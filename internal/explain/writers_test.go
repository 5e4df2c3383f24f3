package explain_test

import (
	"strings"
	"testing"

	"shakedown/internal/explain"
	"shakedown/internal/finding"
	"shakedown/internal/logstream"
)

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
		out, res := run(t, explain.Options{Sources: []logstream.Source{source("all.log", log)}})
		var files []string
		for _, l := range of[*finding.LaunchMsg](out) {
			files = append(files, strings.Join(l.Files, "+")+" "+string(l.Outcome))
		}
		want := "all.log[good-1] ok, all.log[evil-1] failed"
		if got := strings.Join(files, ", "); got != want || res.Last == explain.Healthy {
			t.Errorf("got %s (verdict %d), want %s", got, res.Last, want)
		}
	}
}
