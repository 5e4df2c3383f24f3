package logstream

import (
	"strings"
	"testing"
)

// FuzzErrorSigns: a text that looks like an error by its words holds a sign.
func FuzzErrorSigns(f *testing.F) {
	for _, text := range []string{
		"torch.OutOfMemoryError: CUDA out of memory", "raised ValueError(x)", "error: no such file", "PANIC: lost", "Aborting now",
		"GGML_ASSERT(n > 0) failed", "Assertion `x' failed", "Killed", "Bus error (core dumped)", "it was fatal", "all is well",
	} {
		f.Add(uint8(NoLevel), text)
		f.Add(uint8(Info), text)
	}
	f.Fuzz(func(t *testing.T, level uint8, text string) {
		p := Prefix{Level: Level(level) % Error, Rank: NoRank}
		if !IsErrorLike(p, []byte(text)) {
			return
		}
		for _, sign := range ErrorSigns() {
			if strings.Contains(text, sign) {
				return
			}
		}
		t.Errorf("%q is like an error and holds no sign", text)
	})
}
