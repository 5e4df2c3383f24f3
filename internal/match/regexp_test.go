package match

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeed(t *testing.T) {
	tests := []struct {
		expr, text string
		want       bool // the text may match
	}{
		{"abc", "xabcx", true},
		{"abc", "abxc", false},
		{"(?i)aBc", "ABC", true},
		{"(?i)aBc", "AB", false},
		{"one.*two", "two one", true}, // the order is left to the expression
		{"one.*two", "one", false},
		{"(?:Key|Type)Error: ", "TypeError: ", true},
		{"(?:Key|Type)Error: ", "NameError: ", false},
		{"kv[ _-]?cache", "kv_cache kvcache", true},
		{"kv[ _-]?cache", "kv/cache", false},
		{"type[ :]+set", "type=set", false},
		{"type[ :]+set", "type: :set", true},
		{"type[ :]+set", "type:set", true},
		{"type[ :]+set", "type:, set", true},
		{"a(?P<n>x)?b", "ab", true},
		{"a(?P<n>x)?b", "a b", false},
		{"(?i:Wide)|HIGH", "high", true},
		{"wide|.", "", true},
		{"wide|high", "low", false},
		{"(?:no){0,3}", "", true},
		{"(?:yes){2}", "no", false},
		{"[a-z]+=1", "a=2", false},
		{`\w+`, "", true},
		{"(?i)k", "\u212a", true}, // the Kelvin sign
	}
	for _, tt := range tests {
		r := NewRegexp(tt.expr)
		r.compile()
		if got := r.mayMatch([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: %q may match: %v", tt.expr, tt.text, got)
		}
	}
}

func TestRegexpFind(t *testing.T) {
	tests := []struct {
		expr, text string
		want       Captures
		ok         bool
	}{
		{`size=(?P<n>\d+)`, "size=12 ", Captures{{"n", "12"}}, true},
		{`size=(?P<n>\d+)`, "size 12", nil, false},
		{`(?i)SIZE (?P<n>\d+)(?P<unit> MB)?`, "Size 12", Captures{{"n", "12"}}, true},
		{`(?i)kelvin`, "\u212aelvin", nil, true},
		{`no module|kein modul`, "no module", nil, true},
	}
	for _, tt := range tests {
		got, ok := NewRegexp(tt.expr).Find([]byte(tt.text))
		if ok != tt.ok {
			t.Errorf("%s on %q: matched %v, want %v", tt.expr, tt.text, ok, tt.ok)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s on %q (-want +got):\n%s", tt.expr, tt.text, diff)
		}
	}
}

func TestCheckRegexp(t *testing.T) {
	if err := CheckRegexp("(a"); err == nil {
		t.Error("an open group is accepted")
	}
	if err := CheckRegexp("(?i)a|b"); err != nil {
		t.Error(err)
	}
}

// FuzzRegexp compares with package regexp, which knows no needs.
func FuzzRegexp(f *testing.F) {
	f.Add(`(?i)fp8 (?:kv[ _-]?cache)[^=]{0,80}(?:unsupported|requires?)`, "FP8 kv-cache is unsupported")
	f.Add(`(?:Key|Type|Attribute)Error: .*`, "TypeError: x")
	f.Add(`a|b?`, "")
	f.Add(`(?i)sk`, "\u017f\u212a")
	f.Fuzz(func(t *testing.T, expr, text string) {
		re, err := regexp.Compile(expr)
		if (err == nil) != (CheckRegexp(expr) == nil) {
			t.Fatalf("Compile says %v, CheckRegexp %v", err, CheckRegexp(expr))
		}
		if err != nil {
			return
		}
		if _, ok := NewRegexp(expr).Find([]byte(text)); ok != re.MatchString(text) {
			t.Fatalf("%q on %q: found %v", expr, text, ok)
		}
	})
}
