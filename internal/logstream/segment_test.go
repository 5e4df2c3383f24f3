package logstream

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func segments(line string) []string {
	var got []string
	Segments([]byte(line), func(seg []byte) { got = append(got, string(seg)) })
	return got
}

func TestSegments(t *testing.T) {
	const bar = "Capturing:  34%|███▍      | 12/35 [00:01<00:02,  9.93it/s]"
	const worker = "(Worker_TP3 pid=8456) ERROR 04-17 02:01:23 [multiproc_executor.py:949] WorkerProc hit an exception."
	tests := []struct {
		line string
		want []string
	}{
		{"", []string{""}},
		{"plain text", []string{"plain text"}},
		{"text\r", []string{"text"}},
		{"\r", []string{""}},
		// escape sequences
		{"\x1b[1;36m(EngineCore_DP0 pid=9)\x1b[0;0m ERROR x", []string{"(EngineCore_DP0 pid=9) ERROR x"}},
		{"\x1b[32mINFO\x1b[0m:     ready", []string{"INFO:     ready"}},
		{"\x1b[0msrv load", []string{"srv load"}},
		{"a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c", []string{"abc"}},
		{"cut \x1b[3", []string{"cut "}},
		{"cut \x1b", []string{"cut "}},
		{"\x1b]never closed", []string{"never closed"}},
		{"\x1b(Bx", []string{"x"}},
		{"[36m(RayWorkerWrapper pid=8)[0m text [1m]", []string{"(RayWorkerWrapper pid=8) text ]"}},
		{"rate(x[5m]) is text", []string{"rate(x[5m]) is text"}},
		// carriage returns
		{"  0%|  | 0/2 [00:00<?]\r 50%|█ | 1/2 [00:01<00:01]\r", []string{"  0%|  | 0/2 [00:00<?]", " 50%|█ | 1/2 [00:01<00:01]"}},
		{"a\r\rb", []string{"a", "b"}},
		// glued lines
		{bar + worker, []string{bar, worker}},
		{"\r" + bar + "\r" + bar + worker, []string{bar, bar, worker}},
		{"Shards: 100% Completed | 3/3 [00:01<00:00]INFO 04-26 01:58:56 [a.py:1] x", []string{"Shards: 100% Completed | 3/3 [00:01<00:00]", "INFO 04-26 01:58:56 [a.py:1] x"}},
		{bar + "[rank1]:[E129 08:52:51.68 ProcessGroupNCCL.cpp:1595] x", []string{bar, "[rank1]:[E129 08:52:51.68 ProcessGroupNCCL.cpp:1595] x"}},
		{bar + "[2026-01-02 03:04:05 TP1] x", []string{bar, "[2026-01-02 03:04:05 TP1] x"}},
		{bar + "RuntimeError: x", []string{bar, "RuntimeError: x"}},
		{bar + ", loss=0.1", []string{bar + ", loss=0.1"}},
		{bar + bar, []string{bar, bar}},
		{"ERROR 04-26 01:59:07 INFO 04-26 01:58:56 api_server.py:151] x", []string{"ERROR 04-26 01:59:07 ", "INFO 04-26 01:58:56 api_server.py:151] x"}},
		{"INFO 04-26 01:58:56 api_server.py:151] aINFO 04-26 01:58:57 api_server.py:151] b", []string{"INFO 04-26 01:58:56 api_server.py:151] a", "INFO 04-26 01:58:57 api_server.py:151] b"}},
		{"[2026-01-02 03:04:05 TP1] a[2026-01-02 03:04:05 TP2] b", []string{"[2026-01-02 03:04:05 TP1] a", "[2026-01-02 03:04:05 TP2] b"}},
		// prefixes that belong together, and quoted ones
		{"[2026-01-02 03:04:05] INFO 01-02 03:04:05 [a.py:1] x", []string{"[2026-01-02 03:04:05] INFO 01-02 03:04:05 [a.py:1] x"}},
		{"(EngineCore pid=1) (Worker pid=2) x", []string{"(EngineCore pid=1) (Worker pid=2) x"}},
		{"(Worker pid=2) the peer (Worker pid=3) died", []string{"(Worker pid=2) the peer (Worker pid=3) died"}},
		{`"[2026-01-02 03:04:05 TP1] a\n[2026-01-02 03:04:05 TP1] b"`, []string{`"[2026-01-02 03:04:05 TP1] a\n[2026-01-02 03:04:05 TP1] b"`}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, segments(tt.line)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.line, diff)
		}
	}
}

func TestIsProgress(t *testing.T) {
	tests := []struct {
		seg         string
		done, total int
		ok          bool
	}{
		{"Loading safetensors checkpoint shards:  73% Completed | 8/11 [00:33<00:12,  4.08s/it]", 8, 11, true},
		{"Capturing batches (bs=256 avail_mem=65.06 GB):   0%|          | 0/36 [00:00<?, ?it/s]", 0, 36, true},
		{"  5%|▌ | 5/100 [00:01<00:02, 9it/s], loss=0.1", 5, 100, true},
		{"model.safetensors:  45%|████▌     | 1.2G/4.9G [00:10<00:30, 120MB/s]", 45, 100, true},
		{"(Worker pid=2) 100%|█| 2/2 [00:01<00:00]", 2, 2, true},
		{"..................................................", 50, 100, true},
		{"...", 0, 0, false},
		{"GPU 45%| 3/4", 0, 0, false},
		{"100% done", 0, 0, false},
		{"", 0, 0, false},
		{"50%|█ | 1/2 [00:01<00:01]INFO x", 0, 0, false},
	}
	for _, tt := range tests {
		done, total, ok := IsProgress([]byte(tt.seg))
		if done != tt.done || total != tt.total || ok != tt.ok {
			t.Errorf("%q: %d/%d %v, want %d/%d %v", tt.seg, done, total, ok, tt.done, tt.total, tt.ok)
		}
	}
}

// FuzzSegments checks that segments keep the text of the line in order.
func FuzzSegments(f *testing.F) {
	for _, seed := range []string{
		"\x1b[1;36m(EngineCore_DP0 pid=9)\x1b[0;0m ERROR x",
		"[36m(RayWorkerWrapper pid=8)[0m text",
		"  0%|  | 0/2 [00:00<?]\r 50%|█ | 1/2 [00:01<00:01]INFO 04-26 01:58:56 [a.py:1] x",
		"ERROR 04-26 01:59:07 INFO 04-26 01:58:56 api_server.py:151] x",
		"a[2026-01-02 03:04:05 TP1] b[rank1]:[E129 08:52:51.68 P.cpp:1595] c",
		"\x1b]0;t\x07", "\x1b[", "\r\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		kept := bytes.Clone(line)
		var all []byte
		n := 0
		Segments(line, func(seg []byte) {
			n++
			all = append(all, seg...)
			if bytes.IndexByte(seg, escape) >= 0 || bytes.IndexByte(seg, '\r') >= 0 {
				t.Fatalf("control bytes in %q", seg)
			}
			IsProgress(seg)
		})
		if !bytes.Equal(kept, line) {
			t.Fatal("the line was changed")
		}
		if n == 0 && len(bytes.Trim(line, "\r\n")) > 0 {
			t.Fatal("no segment")
		}
		if rest := line; !isSubsequence(all, rest) {
			t.Fatalf("%q holds text that is not in %q", all, line)
		}
	})
}

func isSubsequence(short, long []byte) bool {
	for _, b := range short {
		at := bytes.IndexByte(long, b)
		if at < 0 {
			return false
		}
		long = long[at+1:]
	}
	return true
}
