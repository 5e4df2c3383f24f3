package launch

import "fmt"

// Live is what a growing log shows of its current launch.
type Live struct {
	Milestone string // the last one, "" before the first
	Phase     string
	Progress  string  // "8/47" of a progress bar that came after the milestone
	Seconds   float64 // of the log's own clock since the launch began, -1 unknown
	Ended     bool    // it has failed, stopped or exited as far as it shows
}

// Live describes the current launch; ok is false when there is none.
func (b *Builder) Live() (v Live, ok bool) {
	l := b.cur
	if l == nil {
		return Live{}, false
	}
	v = Live{Phase: string(l.phase), Seconds: -1, Ended: l.ended()}
	at := 0
	if n := len(l.Milestones); n > 0 {
		m := &l.Milestones[n-1]
		v.Milestone, at = m.Line.Name, m.Pos.Line
	}
	if l.ProgressTotal > 0 && l.ProgressPos.Line >= at {
		v.Progress = fmt.Sprintf("%d/%d", l.ProgressDone, l.ProgressTotal)
	}
	f := l.Files[0]
	if s, known := f.End.Sub(f.Start); known {
		v.Seconds = s
	}
	return v, true
}

// Cut hands out the current launch although the file goes on: nothing more is
// expected of it. Lines that come late all the same belong to it and are passed
// over, until a server starts again.
func (b *Builder) Cut() {
	b.endTraces()
	b.finish()
	b.cut = true
}

// Live describes the current launch of the server that wrote last.
func (w *Writers) Live() (v Live, ok bool) { return w.last.builder.Live() }

// CutEnded cuts the launches that have ended.
func (w *Writers) CutEnded() {
	for _, wr := range w.all {
		if l := wr.builder.cur; l != nil && l.ended() {
			wr.builder.Cut()
		}
	}
}
