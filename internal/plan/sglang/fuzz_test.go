package sglang

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
)

// FuzzResolve resolves launches of any config.json, hf_quant_config.json,
// options (divided by newlines) and environment: each has an answer, the same
// one every time.
func FuzzResolve(f *testing.F) {
	for i, d := range slices.Concat(decisions, olderDecisions, laterDecisions) {
		env := ""
		for k, v := range d.env {
			env += k + "=" + v + "\n"
		}
		f.Add([]byte(d.config), []byte(d.quant), strings.Join(strings.Fields(d.argv), "\n"), env, d.gpu.SM, i)
	}
	f.Fuzz(func(t *testing.T, config, quant []byte, argv, env, sm string, version int) {
		o, err := hfconfig.Decode(config)
		if err != nil {
			return
		}
		q, err := hfconfig.Decode(quant)
		if err != nil {
			q = nil
		}
		gpu := h100
		gpu.SM = sm
		known := Versions()
		m := &hfconfig.Model{Name: "m", Path: "m", Config: o, HFQuant: q}
		c := plan.Case{Engine: "sglang", Version: known[uint(version)%uint(len(known))], GPU: gpu, Model: m, Drafts: map[string]*hfconfig.Model{"draft": m},
			Argv: strings.Split(argv, "\n"), Env: map[string]string{}}
		c.Deps = Pins(c.Version)
		for line := range strings.Lines(env) {
			k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			c.Env[k] = v
		}
		first, again := Resolve(c), Resolve(c)
		if a, b := fmt.Sprintf("%+v", first), fmt.Sprintf("%+v", again); a != b {
			i := 0
			for i < min(len(a), len(b)) && a[i] == b[i] {
				i++
			}
			from := max(0, i-100)
			t.Fatalf("two answers:\n%.300s\n%.300s", a[from:], b[from:])
		}
	})
}
