package knowledge

import (
	"slices"
	"strings"

	"shakedown/internal/fact"
	"shakedown/internal/launch"
)

// check is a condition in Go, for what the rule language does not say.
type check func(*eval, *candidate) bool

// checks are the named checks that rules may ask for.
var checks = map[string]check{
	// The lead stands in a launch that was ready before it.
	"after-ready": func(e *eval, c *candidate) bool {
		return e.l.ReadySeq >= 0 && c.lead() != nil && c.lead().Seq > e.l.ReadySeq
	},
	// The lead stands before the ready line, or there is none.
	"before-ready": func(e *eval, c *candidate) bool {
		return c.lead() != nil && (e.l.ReadySeq < 0 || c.lead().Seq < e.l.ReadySeq)
	},
	// The process that printed the lead made no further progress.
	"not-survived": func(e *eval, c *candidate) bool {
		return c.lead() != nil && !e.survived(c.lead())
	},
	// Nothing before the lead shows that the server has failed: what ends after
	// that is ended by the server itself.
	"first-failure": func(e *eval, c *candidate) bool {
		return c.lead() != nil && (e.l.FailSeq < 0 || c.lead().Seq <= e.l.FailSeq)
	},
	// The launch shows NaN or Inf at the sampler.
	"symptom-nan": func(e *eval, _ *candidate) bool {
		for r, re := range e.events {
			if r.Role == Symptom && r.Cause == "numerics-nan" && slices.ContainsFunc(re.lines, func(evs []*launch.Event) bool { return len(evs) > 0 }) {
				return true
			}
		}
		return false
	},
	// The GPU is a consumer or workstation Blackwell (compute capability 12.x).
	"sm12x": func(e *eval, _ *candidate) bool {
		sm := e.l.Facts.Value(fact.GPUSM)
		if strings.HasPrefix(sm, "12.") || strings.HasPrefix(sm, "12") && len(sm) == 3 {
			return true
		}
		name := strings.ToLower(e.l.Facts.Value(fact.GPUName))
		for _, n := range []string{"rtx pro 6000", "rtx 5090", "5090", "gb10", "rtx 5080", "rtx pro 5000", "dgx spark"} {
			if strings.Contains(name, n) {
				return true
			}
		}
		return false
	},
}
