//go:build !linux || !(amd64 || arm64)

package checkpoint

import "os"

// random does nothing: the system has no such call, or packs its arguments in
// another way.
func random(*os.File) {}

// soon does nothing, for the same reason.
func soon(*os.File, int64, int64) {}

// drop does nothing, for the same reason.
func drop(*os.File, int64, int64) {}
