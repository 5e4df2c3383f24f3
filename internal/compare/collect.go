package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"shakedown/internal/finding"
)

// Launch is all that a stream says of one launch.
type Launch struct {
	finding.LaunchMsg
	Launches int  // launches in the stream
	Cut      bool // the stream's end is missing
	Symptoms []finding.SymptomMsg
	Findings []finding.FindingMsg
	Settings []finding.SettingMsg
}

// failed says that the launch itself went wrong: a stop from outside is none.
func (l *Launch) failed() bool { return l.Outcome != finding.OK && l.Outcome != finding.Stopped }

func (l *Launch) side() finding.Side {
	return finding.Side{
		Files: l.Files, Launch: l.N, Launches: l.Launches, Engine: l.Engine, EngineVersion: l.EngineVersion,
		Outcome: l.Outcome, Phase: l.Phase, Verdict: l.Verdict, Model: l.Model, Hardware: l.Hardware, Parallel: l.Parallel,
	}
}

// firstCause is the finding that explains best why the launch went wrong: the
// stream has them in the order of their ranks. It is nil for a launch that is
// well, whose cause says why it ended.
func (l *Launch) firstCause() *finding.FindingMsg {
	i := slices.IndexFunc(l.Findings, func(f finding.FindingMsg) bool { return f.Role == "cause" })
	if i < 0 || l.Outcome == finding.OK {
		return nil
	}
	return &l.Findings[i]
}

// ErrNoLaunch says that a stream holds no launch.
var ErrNoLaunch = errors.New("no launch of a server in it")

// NoSuchLaunchError says that a stream has fewer launches than the number that
// was asked for.
type NoSuchLaunchError struct{ Number, Launches int }

func (e *NoSuchLaunchError) Error() string {
	return fmt.Sprintf("launch %d was asked for, and there are %d", e.Number, e.Launches)
}

// maxOfKind bounds the messages of one kind that are kept: engines have fewer
// than 500 settings.
const maxOfKind = 2000

// Collector is a finding.Handler that keeps one launch of a stream.
type Collector struct {
	number  int // 0: the last one
	total   int
	current *Launch // nil: the messages are of a launch that was not asked for
	kept    *Launch
	ended   bool
}

var _ finding.Handler = (*Collector)(nil)

// NewCollector returns a Collector that keeps the launch of this number, counted
// from 1, or the last one for 0.
func NewCollector(number int) *Collector { return &Collector{number: number} }

// Handle keeps a copy of m when it belongs to the launch.
func (c *Collector) Handle(m finding.Message) error {
	switch m := m.(type) {
	case *finding.LaunchMsg:
		return c.begin(m)
	case *finding.SymptomMsg:
		return keep(c.current, m, func(l *Launch) *[]finding.SymptomMsg { return &l.Symptoms })
	case *finding.FindingMsg:
		return keep(c.current, m, func(l *Launch) *[]finding.FindingMsg { return &l.Findings })
	case *finding.SettingMsg:
		return keep(c.current, m, func(l *Launch) *[]finding.SettingMsg { return &l.Settings })
	case *finding.EndMsg:
		c.ended = true
	}
	return nil
}

// Close does nothing: there is no output to finish.
func (c *Collector) Close() error { return nil }

func (c *Collector) begin(m *finding.LaunchMsg) error {
	c.total++
	c.current = nil
	if c.number != 0 && c.number != c.total {
		return nil
	}
	msg, err := copied(m)
	c.current = &Launch{LaunchMsg: msg}
	c.kept = c.current
	return err
}

// Launch returns the launch once the stream is over. The error is ErrNoLaunch,
// or a *NoSuchLaunchError.
func (c *Collector) Launch() (*Launch, error) {
	switch {
	case c.total == 0:
		return nil, ErrNoLaunch
	case c.kept == nil:
		return nil, &NoSuchLaunchError{c.number, c.total}
	}
	c.kept.Launches, c.kept.Cut = c.total, !c.ended
	return c.kept, nil
}

// keep appends a copy of m to a list of l, which may be nil.
func keep[M any](l *Launch, m *M, of func(*Launch) *[]M) error {
	if l == nil {
		return nil
	}
	list := of(l)
	if len(*list) >= maxOfKind {
		return nil
	}
	msg, err := copied(m)
	*list = append(*list, msg)
	return err
}

// copied is a deep copy, made the way in which a message is saved.
func copied[M any](m *M) (out M, err error) {
	b, err := json.Marshal(m)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(b, &out)
}
