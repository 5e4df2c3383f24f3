package launch_test

import (
	"strings"
	"testing"
)

// FuzzBuilder reads arbitrary bytes as a log: no panic, no broken bound, and
// launches that lie in the file one behind the other. Two may share a line, when
// processes wrote theirs without a line end between.
func FuzzBuilder(f *testing.F) {
	for _, log := range []string{
		sglCommand + sglStart + sglServed + sglSigterm + sglNoise,
		sglDump + sglLoad + sglCrash + at("12", sglStart) + sglAssert,
		"$ python3 -m sglang.launch_server \\\n --tp 2 \\\n" + sglStart,
		vllmStart + vllmUp + vllmServed + interrupt,
		"$ vllm serve /models/orca-7b --headless\n" + vllmStart,
		"build: 6700 (a1b2c3d4) with cc\nsrv    load_model: loading model '/models/q4.gguf'\nmain: server is listening on http://127.0.0.1:8080\n",
		"[TensorRT-LLM] TensorRT-LLM version: 1.0.0\nINFO:     Started server process [3]\n",
		"2026-03-01 10:00:00,000 - lmdeploy - INFO - turbomind.py:200 - model_config:\n",
		"```\n" + sglDump + "```\nThat is **all**.\n",
		"Traceback (most recent call last):\n" + strings.Repeat("  File \"x\", line 1, in f\n", 300),
		"\x00\xff\xfe\r\r\n\x1b[31mERROR\x1b[0m server_args=ServerArgs(((",
	} {
		f.Add([]byte(log))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		n := 1 + strings.Count(string(log), "\n")
		last := 0
		for _, l := range read(t, "f", string(log)) {
			checkBounds(t, l)
			file := l.Files[0]
			if file.First < max(last, 1) || file.Last < file.First || file.Last > n {
				t.Fatalf("launch in lines %d to %d of %d, behind line %d", file.First, file.Last, n, last)
			}
			last = file.Last
			if l.Outcome == "" || l.Engine == nil {
				t.Fatalf("outcome %q of engine %s", l.Outcome, l.EngineName())
			}
			l.Infer()
		}
	})
}
