package knowledge

import (
	"strings"

	"shakedown/internal/fact"
	"shakedown/internal/finding"
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
	// At least one request was answered before the lead.
	"served-before": func(e *eval, c *candidate) bool { return e.l.Served > 0 },
	// The launch shows NaN or Inf at the sampler.
	"symptom-nan": func(e *eval, _ *candidate) bool {
		for r := range e.events {
			if r.Role == Symptom && r.Cause == "numerics-nan" {
				return true
			}
		}
		return false
	},
	// The launch spans several nodes.
	"multi-node": func(e *eval, _ *candidate) bool {
		n, ok := number(e.l.Facts.Value(fact.Nodes))
		return ok && n > 1 || len(e.l.Files) > 1
	},
	// The launch stopped although nothing failed before.
	"clean-stop": func(e *eval, _ *candidate) bool {
		return e.l.StopSeq >= 0 && (e.l.Outcome == finding.Stopped || e.l.Outcome == finding.OK)
	},
	// The GPU was nearly empty of free memory when the server started.
	"little-free-at-start": func(e *eval, _ *candidate) bool {
		free, ok1 := number(e.l.Facts.Value(fact.GPUFree))
		total, ok2 := number(e.l.Facts.Value(fact.GPUMem))
		return ok1 && ok2 && total > 0 && free < 0.75*total
	},
	// The checkpoint is a 4-bit NVFP4 one.
	"nvfp4": func(e *eval, _ *candidate) bool {
		for _, s := range []string{e.l.Facts.Value(fact.Quant), e.l.Facts.Value(fact.Model)} {
			if s = strings.ToLower(s); strings.Contains(s, "nvfp4") || strings.Contains(s, "modelopt_fp4") || strings.Contains(s, "fp4") {
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
