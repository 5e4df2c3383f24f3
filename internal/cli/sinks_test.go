package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/finding"
)

// send opens the sinks of these options, sends the messages, and closes.
func send(t *testing.T, o *explainOptions, failure error, messages ...finding.Message) {
	t.Helper()
	s, err := newSinks(o, []string{"server.log"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if err := s.Handle(m); err != nil {
			t.Fatal(err)
		}
	}
	if failure != nil {
		s.fail(failure)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// newOptions returns explain's options in a world of buffers.
func newOptions() (o *explainOptions, stdout, stderr *bytes.Buffer) {
	w, stdout, stderr := newWorld()
	return &explainOptions{outputOptions: outputOptions{color: "auto"}, world: w}, stdout, stderr
}

func TestSinksFormats(t *testing.T) {
	dir := t.TempDir()
	page, suite := filepath.Join(dir, "r.html"), filepath.Join(dir, "r.xml")
	for _, tc := range []struct {
		name string
		set  func(*explainOptions)
		want map[string]string // output -> text that begins it
	}{
		{"json", func(o *explainOptions) { o.json = true }, map[string]string{"": `{"message":"config"`}},
		{"html", func(o *explainOptions) { o.html = toStdout }, map[string]string{"": "<!"}},
		{"junit", func(o *explainOptions) { o.junit = toStdout }, map[string]string{"": "<?xml"}},
		{"files beside json", func(o *explainOptions) { o.json, o.html, o.junit = true, page, suite },
			map[string]string{"": `{"message":"config"`, page: "<!", suite: "<?xml"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, stdout, _ := newOptions()
			tc.set(o)
			send(t, o, nil, newConfigMsg(), &finding.LaunchMsg{N: 1, Outcome: finding.OK}, &finding.EndMsg{Launches: 1})
			for name, begin := range tc.want {
				got := stdout.String()
				if name != "" {
					data, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					got = string(data)
				}
				if !strings.HasPrefix(got, begin) {
					t.Errorf("output %q begins %.40q, want %q", name, got, begin)
				}
			}
		})
	}
}

// TestSinksFail shows who reports an error: documents hold it, text and JSON
// leave it to the frame.
func TestSinksFail(t *testing.T) {
	failure := inputError(errors.New("server.log: damaged"), "ls -l server.log")
	for _, tc := range []struct {
		name  string
		set   func(*explainOptions)
		holds bool
	}{
		{"text", func(*explainOptions) {}, false},
		{"json", func(o *explainOptions) { o.json = true }, false},
		{"markdown", func(o *explainOptions) { o.markdown = true }, true},
		{"html", func(o *explainOptions) { o.html = toStdout }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, stdout, _ := newOptions()
			tc.set(o)
			send(t, o, failure)
			if got := strings.Contains(stdout.String(), "server.log: damaged"); got != tc.holds {
				t.Errorf("the output holds the error: %v, want %v:\n%s", got, tc.holds, stdout)
			}
			if !tc.holds && stdout.Len() > 0 {
				t.Errorf("output of a run without a launch: %q", stdout)
			}
		})
	}
}

func TestSinksUnwritable(t *testing.T) {
	o, _, _ := newOptions()
	o.html = filepath.Join(t.TempDir(), "missing", "r.html")
	_, err := newSinks(o, nil)
	if code := exitCode(err); code != exitFailed {
		t.Errorf("error %v has exit code %d, want %d", err, code, exitFailed)
	}
}

func TestSaver(t *testing.T) {
	o, _, stderr := newOptions()
	o.save = filepath.Join(t.TempDir(), "next")
	remedy := func(launch int, script string) finding.Message {
		return &finding.FindingMsg{Launch: launch, Remedies: []finding.Remedy{{Title: "no command"}, {Script: script}}}
	}
	send(t, o, nil, newConfigMsg(),
		&finding.LaunchMsg{N: 1, Outcome: finding.Failed}, remedy(1, "vllm serve earlier\n"),
		&finding.LaunchMsg{N: 2, Outcome: finding.Failed}, remedy(2, "vllm serve m --port 1"), remedy(2, "services:\n  vllm:\n    image: x\n"),
		&finding.EndMsg{Launches: 2})
	got := map[string]string{}
	files, err := os.ReadDir(o.save)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(o.save, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[f.Name()] = string(data)
	}
	want := map[string]string{"next-1.sh": "vllm serve m --port 1\n", "next-2.yaml": "services:\n  vllm:\n    image: x\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("saved files (-want +got):\n%s", diff)
	}
	if !strings.Contains(stderr.String(), "next-2.yaml\n") {
		t.Errorf("stderr does not name the files: %q", stderr)
	}
}
