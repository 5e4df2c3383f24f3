package explain

import (
	"shakedown/internal/finding"
	"shakedown/internal/launch"
)

// late holds the launches of a long history whose turn to be judged may never
// come: whether a launch is among the last ones shows only at the end.
type late struct {
	last   []numbered // as many as Options.Listed at most, oldest first
	failed *numbered  // the last one before these that failed
}

type numbered struct {
	n int
	l *launch.Launch
}

// next takes the next launch and judges it, now or, far down a long history,
// perhaps at the end.
func (r *run) next(l *launch.Launch) {
	r.res.Launches++
	l.Infer()
	one := numbered{r.res.Launches, l}
	if r.opt.Listed == 0 || one.n <= r.opt.Listed {
		r.judge(one.n, one.l)
		return
	}
	r.late.last = append(r.late.last, one)
	if len(r.late.last) <= r.opt.Listed {
		return
	}
	first := r.late.last[0]
	r.late.last = r.late.last[1:]
	if o := first.l.Outcome; o != finding.OK && o != finding.Stopped {
		r.late.failed = &first
	}
}

// finish judges the launches whose turn has come after all.
func (r *run) finish() {
	if f := r.late.failed; f != nil {
		r.judge(f.n, f.l)
	}
	for _, one := range r.late.last {
		r.judge(one.n, one.l)
	}
	r.late = late{}
}
