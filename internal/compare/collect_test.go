package compare

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"shakedown/internal/finding"
)

// stream is a report of two launches.
func stream(t testing.TB, ended bool) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := finding.NewEncoder(&b)
	ms := []finding.Message{&finding.ConfigMsg{SchemaVersion: finding.SchemaVersion}}
	for n, l := range []*Launch{broke(), worked()} {
		l.N = n + 1
		ms = append(ms, &l.LaunchMsg)
		for i := range l.Symptoms {
			ms = append(ms, &l.Symptoms[i])
		}
		for i := range l.Findings {
			ms = append(ms, &l.Findings[i])
		}
		for i := range l.Settings {
			ms = append(ms, &l.Settings[i])
		}
	}
	if ended {
		ms = append(ms, &finding.EndMsg{Launches: 2})
	}
	for _, m := range ms {
		if err := enc.Handle(m); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func collected(report []byte, number int) (*Launch, error) {
	c := NewCollector(number)
	if err := finding.Decode(bytes.NewReader(report), c.Handle); err != nil {
		return nil, err
	}
	return c.Launch()
}

func TestCollector(t *testing.T) {
	for _, tc := range []struct {
		number, n int
		outcome   finding.Outcome
		findings  int
	}{{0, 2, finding.OK, 0}, {1, 1, finding.Failed, 1}, {2, 2, finding.OK, 0}} {
		l, err := collected(stream(t, true), tc.number)
		if err != nil {
			t.Fatal(err)
		}
		if l.N != tc.n || l.Outcome != tc.outcome || len(l.Findings) != tc.findings || len(l.Settings) != 4 || l.Launches != 2 || l.Cut {
			t.Errorf("launch %d: %+v", tc.number, l)
		}
	}
	if l, err := collected(stream(t, false), 0); err != nil || !l.Cut {
		t.Errorf("a stream without its end: %+v, %v", l, err)
	}
	var none *NoSuchLaunchError
	if _, err := collected(stream(t, true), 3); !errors.As(err, &none) || none.Launches != 2 {
		t.Errorf("launch 3: %v", err)
	}
	if _, err := NewCollector(0).Launch(); !errors.Is(err, ErrNoLaunch) {
		t.Errorf("no launch: %v", err)
	}
}

func TestCollectorCopies(t *testing.T) {
	c := NewCollector(0)
	m := &worked().LaunchMsg
	if err := c.Handle(m); err != nil {
		t.Fatal(err)
	}
	m.Files[0], m.Milestones[0].Name = "changed", "changed"
	l, err := c.Launch()
	if err != nil || l.Files[0] != "x.log" || l.Milestones[0].Name != "loading" {
		t.Errorf("%+v, %v", l, err)
	}
}

// FuzzCompare compares whatever a saved report may hold.
func FuzzCompare(f *testing.F) {
	f.Add(stream(f, true))
	f.Add(stream(f, false))
	f.Add([]byte(`{"message":"config","schema_version":"1"}` + "\n" + `{"message":"launch","n":1,"outcome":"failed","command":["vllm","serve"],"engine":"vllm","milestones":[{"name":""}]}` + "\n" + `{"message":"setting","name":".","effective":"(","coupled":["."]}`))
	f.Fuzz(func(t *testing.T, report []byte) {
		l, err := collected(report, 0)
		if err != nil {
			return
		}
		Compare(l, broke(), nil)
		Compare(worked(), l, nil)
		if Compare(l, l, nil).Relevant() {
			t.Errorf("a launch differs from itself: %q", rows(Compare(l, l, nil)))
		}
	})
}

// TestHostileSizes checks that a report made to be slow is not.
func TestHostileSizes(t *testing.T) {
	good, bad := worked(), broke()
	var all []string
	for i := range maxOfKind {
		all = append(all, fmt.Sprintf("setting_%d", i))
	}
	for _, l := range []*Launch{good, bad} {
		l.Settings = nil
		for _, name := range all {
			l.Settings = append(l.Settings, finding.SettingMsg{Name: name, Effective: name + string(l.Outcome), Coupled: all})
		}
	}
	bad.Findings[0].Why = strings.Repeat("setting ", 1<<20)
	if got := len(Compare(good, bad, nil).Differences); got != maxOfKind+len(parted) {
		t.Errorf("%d differences", got)
	}
}
