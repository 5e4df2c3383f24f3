package flags

import (
	"slices"
	"testing"
)

func mustVersion(t testing.TB, text string) Version {
	t.Helper()
	v, err := ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCompareOrder(t *testing.T) {
	orders := [][]string{
		{"0.5.3.dev7", "0.5.3a1", "0.5.3b1", "0.5.3rc0.dev2", "0.5.3rc0", "0.5.3rc2", "0.5.3", "0.5.3.post1.dev1", "0.5.3.post1", "0.5.3.post2", "0.5.10"},
		{"b4321", "9010", "b9011"},
		{"1.2.0rc2", "1.2.0rc10", "1.2.0", "1.3.0rc5.post2"},
	}
	for _, order := range orders {
		for i := range order[1:] {
			a, b := mustVersion(t, order[i]), mustVersion(t, order[i+1])
			if a.Compare(b) >= 0 || b.Compare(a) <= 0 {
				t.Errorf("%s must come before %s", a, b)
			}
		}
	}
}

func TestCompareEqual(t *testing.T) {
	for _, pair := range [][2]string{
		{"v0.5.9", "0.5.9"}, {"0.5.9+05fb6a52", "0.5.9"}, {"v0.5.9-cu130-amd64", "0.5.9"},
		{"b9010", "9010"}, {"version: 9010 (0a1b2c3)", "b9010"}, {"1.2", "1.2.0"}, {"0.11.0-rc1", "0.11.0rc1"},
		{"0.5.9-rocm700", "0.5.9"},
	} {
		if a, b := mustVersion(t, pair[0]), mustVersion(t, pair[1]); a.Compare(b) != 0 {
			t.Errorf("%s and %s must be equal", a, b)
		}
	}
}

func TestBase(t *testing.T) {
	for text, want := range map[string]string{
		"0.5.9.dev604+g96abc": "0.5.9", "v0.11.1rc2.dev12+gabc": "0.11.1", "0.5.9.post1+cu130": "0.5.9.post1", "b9010": "9010",
	} {
		if got := mustVersion(t, text).Base().String(); got != want {
			t.Errorf("Base(%s) = %s, want %s", text, got, want)
		}
	}
}

func TestParseVersionRefuses(t *testing.T) {
	for _, text := range []string{"", "dev", "latest", "nightly-20250101", "x0.5", "0.5.9foo"} {
		if v, err := ParseVersion(text); err == nil {
			t.Errorf("ParseVersion(%q) = %v, want an error", text, v)
		}
	}
}

func TestRange(t *testing.T) {
	tests := []struct {
		text    string
		in, out []string
	}{
		{"", []string{"0.1", "b1"}, nil},
		{">=0.5.6 <0.6", []string{"0.5.6", "0.5.6.post2", "0.5.6rc1", "0.5.9.dev604+g96"}, []string{"0.5.5", "0.6.0", "0.6.0rc1"}},
		{">= 0.5.6, < 0.6", []string{"0.5.6"}, []string{"0.6"}},
		{">=1.2.0rc4", []string{"1.2.0rc4", "1.2.0", "1.3.0rc1"}, []string{"1.2.0rc3", "1.1.0"}},
		{">b9000 <=9010", []string{"b9001", "9010"}, []string{"b9000", "b9011"}},
		{"==0.5.9", []string{"v0.5.9-cu130", "0.5.9.dev1"}, []string{"0.5.9.post1"}},
		{"0.5.9", []string{"0.5.9"}, []string{"0.5.8"}},
		{"!=0.5.9", []string{"0.5.8"}, []string{"0.5.9+abc"}},
	}
	for _, tt := range tests {
		r, err := ParseRange(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range tt.in {
			if !r.Has(mustVersion(t, v)) {
				t.Errorf("%q must have %s", tt.text, v)
			}
		}
		for _, v := range tt.out {
			if r.Has(mustVersion(t, v)) {
				t.Errorf("%q must not have %s", tt.text, v)
			}
		}
	}
}

func TestRangeOfUnknownVersion(t *testing.T) {
	bounded, err := ParseRange(">=0.1")
	if err != nil {
		t.Fatal(err)
	}
	if bounded.Has(Version{}) {
		t.Error("a bounded range must not have an unknown version")
	}
	if !(Range{}).Has(Version{}) {
		t.Error("the zero range must have every version")
	}
}

func TestParseRangeRefuses(t *testing.T) {
	for _, text := range []string{">=", "=>0.5", ">=0.5 <x", "~=0.5", ">>1"} {
		if _, err := ParseRange(text); err == nil {
			t.Errorf("ParseRange(%q): want an error", text)
		}
	}
}

func FuzzVersion(f *testing.F) {
	for _, s := range []string{"0.5.9.dev604+g96", "v0.11.1rc2.dev12+gabc", "b9010", "0.5.10.post1", "1.3.0rc5.post2", "0.5.9-cu130"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseVersion(text)
		if err != nil {
			return
		}
		if v.Compare(v) != 0 || !v.Known() {
			t.Errorf("%q is not equal to itself", text)
		}
		if again := mustVersion(t, v.Base().String()); again.Compare(v.Base()) != 0 {
			t.Errorf("%q: base %s reads back as %v", text, v.Base(), again)
		}
	})
}

func FuzzRange(f *testing.F) {
	for _, s := range []string{">=0.5.6 <0.6", ">=1.2.0rc4", "==b9010", "!= 1, >0.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRange(text)
		if err == nil && len(r.terms) == 0 && slices.ContainsFunc([]byte(text), func(c byte) bool { return c != ' ' && c != ',' }) {
			t.Errorf("%q was read as an empty range", text)
		}
	})
}
