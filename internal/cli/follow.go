package cli

import (
	"context"
	"strings"
	"time"

	"shakedown/internal/explain"
	"shakedown/internal/finding"
	"shakedown/internal/launch"
	"shakedown/internal/term"
)

// runFollow explains a growing log: a status line on standard error shows how
// far the launch came, and each launch is reported as soon as it is judged.
func runFollow(ctx context.Context, o *explainOptions, in explain.Options) error {
	status := term.NewStatus(o.world.Stderr, term.Detect(o.world.Stderr, o.world.Env, term.When(o.color)))
	defer status.Clear()
	names := sourceNames(in.Sources)
	out, err := newSinks(o, names)
	if err != nil {
		return err
	}
	watcher := explain.Watcher{
		Moved: func(v launch.Live) { status.Set(names[0] + ": " + liveWords(v)) },
		Judged: func() error {
			status.Clear()
			return out.turn()
		},
	}
	res, err := explain.Follow(ctx, in, out, watcher)
	status.Clear()
	return finishExplain(out, res, err)
}

// liveWords say how far a launch came: "weights loading 8/47, 31 s".
func liveWords(v launch.Live) string {
	var parts []string
	if v.Milestone == "" {
		parts = append(parts, "starting")
	} else {
		parts = append(parts, v.Milestone)
	}
	if v.Progress != "" {
		parts[0] += " " + v.Progress
	}
	if v.Seconds >= 0 {
		parts = append(parts, (time.Duration(v.Seconds) * time.Second).String())
	}
	if v.Ended {
		parts = append(parts, "ended; waiting for its last lines")
	}
	return strings.Join(parts, ", ")
}

// finishExplain ends the stream with the verdict of its last launch and closes
// the outputs.
func finishExplain(out *sinks, res explain.Result, err error) error {
	verdict := verdictError(res.Last)
	if err == nil {
		err = out.Handle(&finding.EndMsg{Launches: res.Launches, Findings: res.Findings, ExitCode: exitCode(verdict)})
	}
	if err != nil {
		err = explained(err)
	}
	return out.finish(verdict, err)
}
