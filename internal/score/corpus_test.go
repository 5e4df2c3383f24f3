package score

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/finding"
)

func TestPair(t *testing.T) {
	labels := []LaunchLabel{{N: 1, FirstLine: 1, LastLine: 10}, {N: 2, FirstLine: 20, LastLine: 30}, {N: 3, FirstLine: 40, LastLine: 41}}
	for _, tc := range []struct {
		name     string
		reported []finding.LaunchMsg
		want     []int // n of the reported launch, 0 for none
	}{
		{"exact", []finding.LaunchMsg{{N: 1, FirstLine: 1, LastLine: 10}, {N: 2, FirstLine: 20, LastLine: 30}, {N: 3, FirstLine: 40, LastLine: 41}}, []int{1, 2, 3}},
		{"one over all goes to the longest", []finding.LaunchMsg{{N: 1, FirstLine: 1, LastLine: 50}}, []int{0, 1, 0}},
		{"two over one: the larger overlap", []finding.LaunchMsg{{N: 1, FirstLine: 1, LastLine: 3}, {N: 2, FirstLine: 4, LastLine: 12}}, []int{2, 0, 0}},
		{"touching is not overlapping", []finding.LaunchMsg{{N: 1, FirstLine: 11, LastLine: 19}}, []int{0, 0, 0}},
	} {
		var got []int
		for _, m := range pair(labels, tc.reported) {
			if m == nil {
				got = append(got, 0)
			} else {
				got = append(got, m.N)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: pair differs (-want +got):\n%s", tc.name, diff)
		}
	}
}

func found(id, cause string, c finding.Confidence, lines ...int) finding.FindingMsg {
	f := finding.FindingMsg{ID: id, Cause: cause, Confidence: c, Severity: finding.Error}
	for _, n := range lines {
		f.Evidence = append(f.Evidence, finding.Evidence{Kind: "log", Line: n})
	}
	return f
}

func ranked(fs ...finding.FindingMsg) []finding.FindingMsg {
	for i := range fs {
		fs[i].Launch, fs[i].Rank = 1, i+1
	}
	return fs
}

// TestTally checks each rule of the package comment on one launch.
func TestTally(t *testing.T) {
	log := strings.Split("start\nfree memory 3 GiB\nOutOfMemoryError\nbye", "\n")
	oom := LaunchLabel{N: 1, FirstLine: 1, LastLine: 4, Outcome: "failed", Cause: "oom-weights", Second: []string{"memory-taken"}, Decisive: []int{3}}
	healthy := LaunchLabel{N: 1, FirstLine: 1, LastLine: 4, Outcome: "ok", Cause: "none", Decisive: []int{4}}
	stopped := LaunchLabel{N: 1, FirstLine: 1, LastLine: 4, Outcome: "aborted", Cause: "unclear"}
	quote := found("R1", "oom-weights", finding.Likely)
	quote.Evidence = []finding.Evidence{{Kind: "log", Line: 2, Text: " OutOfMemoryError "}}
	outside := quote
	outside.Evidence = []finding.Evidence{{Kind: "log", Line: 9, Text: "OutOfMemoryError"}}
	remark := found("R1", "oom-weights", finding.Proven, 3)
	remark.Severity = finding.Info
	consequence := found("R2", "distributed-init", finding.Proven, 4)
	consequence.Explains = []string{"R1"}

	type counts struct{ Top1, Top3, Cause, Line, Outcome, Healthy, Other, Precision Rate }
	yes, no, none := Rate{1, 1}, Rate{0, 1}, Rate{}
	for _, tc := range []struct {
		name     string
		label    LaunchLabel
		outcome  finding.Outcome
		findings []finding.FindingMsg
		want     counts
	}{
		{"right", oom, finding.Failed, ranked(found("R1", "oom-weights", finding.Proven, 3)), counts{yes, yes, yes, yes, yes, none, none, yes}},
		{"accepted second", oom, finding.Failed, ranked(found("R1", "memory-taken", finding.Possible, 3)), counts{yes, yes, yes, yes, yes, none, none, none}},
		{"wrong line", oom, finding.Failed, ranked(found("R1", "oom-weights", finding.Likely, 2)), counts{no, no, yes, no, yes, none, none, yes}},
		{"sixth piece of evidence", oom, finding.Failed, ranked(found("R1", "oom-weights", finding.Likely, 1, 2, 1, 2, 1, 3)), counts{no, no, yes, no, yes, none, none, yes}},
		{"quoted from inside", oom, finding.Failed, ranked(quote), counts{yes, yes, yes, yes, yes, none, none, yes}},
		{"quoted from outside", oom, finding.Failed, ranked(outside), counts{no, no, yes, no, yes, none, none, yes}},
		{"rank 3", oom, finding.Failed, ranked(found("A", "hang", finding.Possible), found("B", "hang", finding.Possible), found("R1", "oom-weights", finding.Possible, 3)), counts{no, yes, no, no, yes, none, none, none}},
		{"rank 4", oom, finding.Failed, ranked(found("A", "hang", finding.Possible), found("B", "hang", finding.Possible), found("C", "hang", finding.Possible), found("R1", "oom-weights", finding.Possible, 3)), counts{no, no, no, no, yes, none, none, none}},
		{"cause and line apart", oom, finding.Failed, ranked(found("A", "hang", finding.Possible, 3), found("R1", "oom-weights", finding.Possible, 2)), counts{no, no, no, yes, yes, none, none, none}},
		{"consequence", oom, finding.Failed, ranked(found("R1", "oom-weights", finding.Proven, 3), consequence), counts{yes, yes, yes, yes, yes, none, none, Rate{2, 2}}},
		{"nothing found, wrong outcome", oom, finding.OK, nil, counts{no, no, no, no, no, none, none, none}},
		{"healthy", healthy, finding.OK, nil, counts{Healthy: yes}},
		{"healthy with a remark", healthy, finding.OK, ranked(remark), counts{Healthy: yes}},
		{"healthy with a guess", healthy, finding.OK, ranked(found("R1", "hang", finding.Possible)), counts{Healthy: yes}},
		{"healthy and accused", healthy, finding.OK, ranked(found("R1", "hang", finding.Likely)), counts{Healthy: no, Precision: no}},
		{"healthy called failed", healthy, finding.Failed, nil, counts{Healthy: no}},
		{"stopped", stopped, finding.Stopped, nil, counts{Other: yes}},
		{"stopped, unclear said with confidence", stopped, finding.Stopped, ranked(found("R1", "unclear", finding.Likely)), counts{Other: yes, Precision: yes}},
		{"stopped called stalled", stopped, finding.Stalled, nil, counts{Other: no}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &answer{
				launches: []finding.LaunchMsg{{N: 1, FirstLine: 1, LastLine: 4, Outcome: tc.outcome}},
				findings: map[int][]finding.FindingMsg{1: tc.findings},
			}
			tally := newTally()
			tally.log(Label{Slug: "x", Launches: []LaunchLabel{tc.label}}, log, a, nil)
			got := counts{tally.Top1, tally.Top3, tally.Cause, tally.Line, tally.Outcome, tally.Healthy, tally.Other, tally.Precision()}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("counts differ (-want +got):\n%s", diff)
			}
			if tally.Split != yes {
				t.Errorf("Split = %v", tally.Split)
			}
		})
	}
}

func TestTallyListsWrongProven(t *testing.T) {
	a := &answer{
		launches: []finding.LaunchMsg{{N: 1, FirstLine: 1, LastLine: 2, Outcome: finding.OK}, {N: 2, FirstLine: 3, LastLine: 4, Outcome: finding.OK}},
		findings: map[int][]finding.FindingMsg{1: ranked(found("R1", "hang", finding.Proven, 1), found("R2", "hang", finding.Likely, 1))},
		drift:    map[string]int{"SGL-KV-001": 2},
	}
	tally := newTally()
	tally.log(Label{Slug: "x", Launches: []LaunchLabel{{N: 1, FirstLine: 1, LastLine: 2, Outcome: "ok", Cause: "none"}}}, []string{"a", "b"}, a, errors.New("cut off"))
	want := []Miss{{"x", 1, "confident and wrong: R1 hang proven, label none"}}
	if diff := cmp.Diff(want, tally.WrongProven); diff != "" {
		t.Errorf("WrongProven differs (-want +got):\n%s", diff)
	}
	if tally.Split != (Rate{0, 1}) || tally.Crashes != 1 || tally.Drift["SGL-KV-001"] != 2 {
		t.Errorf("Split %v, Crashes %d, Drift %v", tally.Split, tally.Crashes, tally.Drift)
	}
	if len(tally.Misses) != 5 {
		t.Errorf("want five misses (failed, split, two findings, launch), got %v", tally.Misses)
	}
}
