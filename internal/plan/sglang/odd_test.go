package sglang

import (
	"strings"
	"testing"

	"shakedown/internal/flags"
)

// TestOddNumbers gives every number of every release values that make no
// sense: the launch is refused or not, but judged.
func TestOddNumbers(t *testing.T) {
	for _, v := range Versions() {
		table, _ := flags.Lookup("sglang", v)
		for _, f := range table.Flags() {
			if !strings.Contains(strings.ToLower(f.Type), "int") && !strings.Contains(strings.ToLower(f.Type), "float") {
				continue
			}
			for _, n := range []string{"0", "1000000000000"} {
				for _, d := range []decision{
					{config: llama, gpu: h100, argv: "--tp 2 --dp 2 --enable-dp-attention --enable-eplb --ep-size 2"},
					{config: deepSeek, gpu: b200, argv: "--tp 8 --speculative-algorithm EAGLE --disaggregation-mode prefill"},
				} {
					d.version = v
					d.argv += " " + f.Name() + "=" + n
					func() {
						defer func() {
							if p := recover(); p != nil {
								t.Errorf("%s %s: %v", v, d.argv, p)
							}
						}()
						for _, l := range Resolve(d.launch(t)).Lines {
							if strings.Contains(l.Text, "%!") {
								t.Errorf("%s %s says %q", v, d.argv, l.Text)
							}
						}
					}()
				}
			}
		}
	}
}
