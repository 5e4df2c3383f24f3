package numerics_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/oracle/numerics"
)

func TestParse(t *testing.T) {
	n, err := numerics.Parse("sglang-bf16kv,kv=fp8_656,scales=deepgemm-packed,fault=stale-page,fault=swap-gate-up,fault=stale-page,page=8")
	if err != nil {
		t.Fatal(err)
	}
	base, err := numerics.Parse("sglang-bf16kv")
	if err != nil {
		t.Fatal(err)
	}
	want := base
	want.Name = n.Name
	want.KV, want.Scales, want.MoEScales = numerics.KV656, numerics.ScalesPacked, numerics.ScalesPacked
	want.Faults, want.Page = []numerics.Fault{numerics.StalePage, numerics.SwapGateUp}, 8
	if d := cmp.Diff(want, n); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if base.KV != numerics.KVBF16 || base.Has(numerics.StalePage) {
		t.Error("the set itself was changed")
	}
	if n, err := numerics.Parse("act=bf16"); err != nil || n.Act != numerics.BF16 || n.MLA != numerics.Absorbed {
		t.Errorf("switches alone change %q: %+v, %v", numerics.Default, n, err)
	}
	if n, err := numerics.Parse("scales=ue8m0,expert-scales=exact"); err != nil || n.Scales != numerics.ScalesE8M0 || n.MoEScales != numerics.ScalesExact {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                  `numerics "" is not known: exact, hf-f32`,
		"bf16":              `numerics "bf16" is not known`,
		"exact,hf-f32":      "the set comes first and is the only one",
		"kv=fp8":            "kv=fp8 is not known: act, f32, bf16, f16, fp8_656",
		"exact,speed=9":     `switch "speed" is not known: act, rounding, norm, gemm`,
		"exact,page=0":      "page=0: a number of tokens from 1",
		"exact,page=x":      "page=x",
		"exact,":            `numerics "" is not known`,
		"exact,fault=":      "fault= is not known: stale-page",
		"exact,fault=other": "fault=other is not known",
	} {
		if _, err := numerics.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestSetsAreComplete: every set says what it is, and sets every switch to a
// value that can be asked for by name.
func TestSetsAreComplete(t *testing.T) {
	for _, name := range numerics.Names() {
		if numerics.About(name) == "" {
			t.Errorf("%s has no description", name)
		}
		n, err := numerics.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range numerics.Switches() {
			if s.Name == "fault" || s.Name == "page" {
				continue
			}
			found := false
			for _, v := range s.Values {
				same, err := numerics.Parse(name + "," + s.Name + "=" + v)
				if err != nil {
					t.Fatal(err)
				}
				same.Name = n.Name
				found = found || cmp.Equal(n, same)
			}
			// scales= sets two switches at once, which some sets hold apart.
			if !found && s.Name != "scales" {
				t.Errorf("%s: no value of %s is that of the set", name, s.Name)
			}
		}
	}
	if numerics.About("nonsense") != "" {
		t.Error("an unknown set has a description")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range append(numerics.Names(), "exact,kv=fp8_576,page=4", "fault=stale-page", "=,=", "page=99999999999999999999") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := numerics.Parse(text); err == nil && (n.Name != text || n.Act == "" || n.Page < 1) {
			t.Errorf("%q: %+v", text, n)
		}
	})
}
