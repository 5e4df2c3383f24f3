//go:build !amd64 && !arm64

package kernel

// assembly returns none: the scalar code runs.
func assembly() []arithmetic { return nil }
