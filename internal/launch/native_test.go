package launch_test

import "testing"

// TestSeenFromOutside: the kernel, the service manager and docker compose say
// that a server died of which its own log says nothing.
func TestSeenFromOutside(t *testing.T) {
	up := sglStart + sglServed
	for _, tc := range []struct{ line, want string }{
		{"sglang.service: Main process exited, code=killed, status=9/KILL", "ready-then-failed"},
		{"sglang.service: Main process exited, code=killed, status=15/TERM", "ok"},
		{"sglang.service: Main process exited, code=dumped, status=11/SEGV", "ready-then-failed"},
		{"sglang.service: Main process exited, code=exited, status=1/FAILURE", "ready-then-failed"},
		{"sglang.service: Main process exited, code=exited, status=143/n/a", "ok"},
		{"sglang-1 exited with code 137", "ready-then-failed"},
		{"sglang-1 exited with code 137 (restarting)", "ready-then-failed"},
		{"sglang-1 exited with code 143", "ok"},
		{"sglang-1 exited with code 0", "ok"},
		{"the helper exited with code 1", "ok"},
		{"Out of memory: Killed process 1810 (python3) total-vm:91234567kB", "ready-then-failed"},
		{"Out of memory: Killed process 1810 (firefox) total-vm:91234567kB", "ok"},
		{"NVRM: Xid (PCI:0000:3b:00): 79, pid=1810, GPU has fallen off the bus.", "ready-then-failed"},
	} {
		l := read(t, "server.log", up+tc.line+"\n")
		if len(l) != 1 {
			t.Fatalf("%s: %d launches", tc.line, len(l))
		}
		if got := string(l[0].Outcome); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.line, got, tc.want)
		}
	}
}

// TestExitOfAService: docker compose reports the end of a service in a line of
// its own, which belongs to that service alone.
func TestExitOfAService(t *testing.T) {
	up := mix([2]string{"a-1", sglStart + sglServed}, [2]string{"b-1", sglStart + sglServed}, [2]string{"web-1", "GET / 200\n"})
	for _, tc := range []struct{ line, a, b string }{
		{"b-1 exited with code 1", "ok", "ready-then-failed"},
		{"a-1 exited with code 139", "ready-then-failed", "ok"},
		{"web-1 exited with code 1", "ok", "ok"},
	} {
		got := make(map[string]string)
		for _, l := range read(t, "all.log", up+tc.line+"\n") {
			got[l.Files[0].Name] = string(l.Outcome)
		}
		if got["all.log[a-1]"] != tc.a || got["all.log[b-1]"] != tc.b || len(got) != 2 {
			t.Errorf("%s: %v", tc.line, got)
		}
	}
}
