package term

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestUseColor(t *testing.T) {
	tests := []struct {
		name string
		when When
		tty  bool
		env  func(string) string
		want bool
	}{
		{"terminal", Auto, true, env(), true},
		{"pipe", Auto, false, env(), false},
		{"always into a pipe", Always, false, env("NO_COLOR", "1"), true},
		{"never", Never, true, env("CLICOLOR_FORCE", "1"), false},
		{"NO_COLOR", Auto, true, env("NO_COLOR", "1"), false},
		{"NO_COLOR wins over force", Auto, false, env("NO_COLOR", "1", "CLICOLOR_FORCE", "1"), false},
		{"force into a pipe", Auto, false, env("CLICOLOR_FORCE", "1"), true},
		{"force off", Auto, false, env("CLICOLOR_FORCE", "0"), false},
		{"CLICOLOR off", Auto, true, env("CLICOLOR", "0"), false},
		{"dumb terminal", Auto, true, env("TERM", "dumb"), false},
	}
	for _, tt := range tests {
		if got := useColor(tt.when, tt.tty, tt.env); got != tt.want {
			t.Errorf("%s: colour %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestWidthOfOutput(t *testing.T) {
	tests := []struct {
		columns string
		own     int
		want    int
	}{
		{"", 0, 80}, {"", 100, 100}, {"90", 100, 90}, {"300", 0, 120},
		{"5", 0, 60}, {"-3", 0, 80}, {"many", 70, 70},
	}
	for _, tt := range tests {
		if got := width(tt.columns, tt.own); got != tt.want {
			t.Errorf("width(%q, %d) = %d, want %d", tt.columns, tt.own, got, tt.want)
		}
	}
}

func TestDetectBuffer(t *testing.T) {
	got := Detect(new(bytes.Buffer), env(), Auto)
	if got.TTY || got.Width != 80 || got.Style.Bad("x") != "x" {
		t.Errorf("a buffer was taken for a terminal: %+v", got)
	}
}

func TestParseWhen(t *testing.T) {
	if w, err := ParseWhen("always"); err != nil || w != Always {
		t.Errorf("always: %q, %v", w, err)
	}
	if _, err := ParseWhen("blue"); err == nil || !strings.Contains(err.Error(), "--color=auto") {
		t.Errorf("blue: %v", err)
	}
}

func TestStyle(t *testing.T) {
	s := Style{on: true}
	if got, want := s.Bad("x"), "\x1b[1;31mx\x1b[0m"; got != want {
		t.Errorf("Bad = %q, want %q", got, want)
	}
	if got := s.Dim(""); got != "" {
		t.Errorf("empty text became %q", got)
	}
	if got := (Style{}).Head("x"); got != "x" {
		t.Errorf("the zero style made %q", got)
	}
}

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain ascii", "plain ascii"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b[38;5;196mred", "red"},
		{"\x1b]0;title\x07text", "text"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\x1b]52;c;never closed", "52;c;never closed"},
		{"\x1bPq#0\x1b\\after", "after"},
		{"\x1b(Btext\x1b=", "text"},
		{"\x1bctext", "text"},
		{"cut \x1b", "cut "},
		{"cut \x1b[12", "cut "},
		{"\u009b31mred", "red"},
		{"\u009d0;title\x07text", "text"},
		{"a\tb", "a    b"},
		{"a\r\nb", "a  b"},
		{"bell\x07 null\x00 del\x7f", "bell null del"},
		{"rtl\u202e zwsp\u200b bom\ufeff none\ufffe", "rtl zwsp bom none"},
		{"bad \xff byte", "bad \ufffd byte"},
		{"名前 é", "名前 é"},
	}
	for _, tt := range tests {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestWidthCutPad(t *testing.T) {
	widths := map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "名前": 4, "ｱ": 1, "✓": 1, "🚀": 2, "한글": 4, "█▏": 2}
	for s, want := range widths {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
	cuts := []struct {
		in          string
		width       int
		front, back string
	}{
		{"abcdef", 6, "abcdef", "abcdef"},
		{"abcdef", 4, "abc…", "…def"},
		{"名前名前", 5, "名前…", "…名前"},
		{"名前名前", 4, "名…", "…前"},
		{"abc", 1, "…", "…"},
		{"abc", 0, "", ""},
	}
	for _, tt := range cuts {
		if got := Cut(tt.in, tt.width); got != tt.front {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.front)
		}
		if got := CutStart(tt.in, tt.width); got != tt.back {
			t.Errorf("CutStart(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.back)
		}
	}
	if got := Pad("名", 4); got != "名  " {
		t.Errorf("Pad = %q", got)
	}
	if got := Pad("long", 2); got != "long" {
		t.Errorf("Pad = %q", got)
	}
}

func TestBreak(t *testing.T) {
	for _, tt := range []struct {
		in         string
		width      int
		head, tail string
	}{
		{"a  b", 2, "a ", " b"}, {"abc", 9, "abc", ""}, {"名前", 3, "名", "前"}, {"名前", 1, "名", "前"}, {"", 3, "", ""},
	} {
		if head, tail := Break(tt.in, tt.width); head != tt.head || tail != tt.tail {
			t.Errorf("Break(%q, %d) = %q, %q, want %q, %q", tt.in, tt.width, head, tail, tt.head, tt.tail)
		}
	}
}

func TestWrap(t *testing.T) {
	tests := []struct {
		in    string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 8, []string{"one two", "three"}},
		{"exactly ten", 11, []string{"exactly ten"}},
		{"abcdefghij k", 4, []string{"abcd", "efgh", "ij k"}},
		{"名前名前", 4, []string{"名前", "名前"}},
		{"a \u0301 b", 20, []string{"a \u0301 b"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Wrap(tt.in, tt.width)); diff != "" {
			t.Errorf("Wrap(%q, %d): %s", tt.in, tt.width, diff)
		}
	}
}

func TestStatus(t *testing.T) {
	var b bytes.Buffer
	s := NewStatus(&b, Output{TTY: true, Width: 20})
	s.Set("reading a file with a long name\x1b[2J")
	s.Clear()
	s.Clear()
	if got, want := b.String(), "\r\x1b[2Kreading a file wit…\r\x1b[2K"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	b.Reset()
	s = NewStatus(&b, Output{Width: 20})
	s.Set("unseen")
	s.Clear()
	if b.Len() > 0 {
		t.Errorf("wrote %q although no one watches", b.String())
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"[2026-02-19 00:21:46 TP0] Load weight begin.", "\x1b[1;36m(EngineCore pid=71)\x1b[0;0m INFO", "\u009b2J", "a\x1b]0;x",
		"Loading: 100%|██████████| 5/5\r", "\xff\xfe\x00", "\u202egnp.exe",
	} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		c := Clean(s)
		for _, r := range c {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("Clean(%q) let %U through", s, r)
			}
		}
		if again := Clean(c); again != c {
			t.Fatalf("Clean is not stable: %q, then %q", c, again)
		}
		n = n%200 + 200
		for _, cut := range []string{Cut(c, n), CutStart(c, n)} {
			if Width(cut) > n {
				t.Fatalf("%q is wider than %d", cut, n)
			}
		}
		lines := Wrap(c, n)
		for _, l := range lines {
			if Width(l) > max(n, 2) {
				t.Fatalf("%q is wider than %d", l, n)
			}
		}
		if a, b := strings.Join(strings.Fields(c), ""), strings.ReplaceAll(strings.Join(lines, ""), " ", ""); strings.Join(strings.Fields(b), "") != a {
			t.Fatalf("Wrap lost text: %q, %q", a, b)
		}
	})
}
