package report

import (
	"fmt"

	"shakedown/internal/finding"
)

// Streams made by hand, in the shape in which explain makes them.

func ptr(s string) *string { return &s }

func log(file string, line int, text string) finding.Evidence {
	return finding.Evidence{Kind: "log", File: file, Line: line, Text: text}
}

func open() finding.Message {
	return &finding.ConfigMsg{SchemaVersion: finding.SchemaVersion, ToolVersion: "0.1.0"}
}

// streams are the inputs of the golden tests.
var streams = map[string]struct {
	files    []string
	messages []finding.Message
}{
	"incident":        {[]string{"night.log"}, incident()},
	"healthy":         {[]string{"ok.log"}, healthy()},
	"latent":          {[]string{"capped.log"}, latent()},
	"stopped":         {[]string{"stopped.log"}, stopped()},
	"unclear":         {[]string{"cut.log"}, cantTell()},
	"multinode":       {[]string{"logs/node0.log", "logs/node1.log"}, multinode()},
	"restarts":        {[]string{"restarts.log"}, restarts(3)},
	"many":            {[]string{"many.log"}, restarts(40)},
	"error":           {[]string{"notes.txt"}, unreadable()},
	"planned":         {nil, planned()},
	"planned-refused": {nil, plannedRefused()},
}

// incident is a numeric fault with two suspects after a passed warm-up.
func incident() []finding.Message {
	const f = "night.log"
	command := []string{"python", "-m", "sglang.launch_server", "--model-path", "/models/Falcon-9-NVFP4", "--tp", "8", "--quantization", "modelopt_fp4", "--attention-backend", "flashinfer", "--port", "8000"}
	return []finding.Message{
		open(),
		&finding.LaunchMsg{
			N: 1, Files: []string{f}, Engine: "sglang", EngineVersion: "0.5.9.dev12", VersionNote: "version 0.5.9.dev12 is read as 0.5.9, the nearest known release",
			FirstLine: 3, LastLine: 9190, Outcome: finding.ReadyThenFailed, Phase: "decode", Verdict: "failed after ready, at the first sampled request",
			Model: "/models/Falcon-9-NVFP4", Hardware: "8x RTX PRO 6000 (SM120)", Parallel: "tp 8",
			Command: command, CommandFrom: &finding.Evidence{Kind: "log", File: f, Line: 3},
			Milestones: []finding.Milestone{
				{Name: "arguments read", Phase: "args", File: f, Line: 5, Seconds: 0},
				{Name: "weights loaded", Phase: "load", File: f, Line: 210, Seconds: 410.5, Detail: "avail mem 30.1 GB"},
				{Name: "KV cache allocated", Phase: "kv-alloc", File: f, Line: 228, Seconds: 415, Detail: "370752 tokens"},
				{Name: "graphs captured", Phase: "graph-capture", File: f, Line: 390, Seconds: 561, Detail: "avail mem 17.08 GB"},
				{Name: "warm-up passed", Phase: "warmup", File: f, Line: 402, Seconds: 575},
				{Name: "ready", Phase: "ready", File: f, Line: 403, Seconds: -1},
			},
			NextMissing: "first decode batch",
			Facts:       []finding.FactEntry{{Key: "kv.tokens", Value: "370752", File: f, Line: 228}, {Key: "mem.avail_gb", Value: "17.08", Unit: "GB", File: f, Line: 390}},
			ErrorLines:  31, Following: 31,
		},
		&finding.SymptomMsg{Launch: 1, Title: "inf, NaN or a negative probability in the sampler, TP0-7", Evidence: []finding.Evidence{
			log(f, 9087, "TensorCompare.cu:112: block: [0,0,0], thread: [0,0,0] Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed.")}},
		&finding.FindingMsg{
			Launch: 1, Rank: 1, ID: "SGL-NUM-003", Cause: "numerics-nan", Severity: finding.Error, Confidence: finding.Likely, Role: "cause",
			Title: "DeepGEMM reads FP32 scales as UE8M0", Why: "On Blackwell DeepGEMM takes only the exponent of each scale. This checkpoint keeps full FP32 scales, so the products are off by up to a factor of two, in every layer, and can grow to NaN.",
			Basis: "the warning names the mismatch, and the GPU is SM120", Explains: []string{"symptom"},
			Ranks: []string{"TP0", "TP1", "TP2", "TP3", "TP4", "TP5", "TP6", "TP7"}, Count: 8, Folded: 31,
			Evidence: []finding.Evidence{
				log(f, 87, "DeepGemm is enabled but the scale_fmt of checkpoint is not ue8m0. This might cause accuracy degradation on Blackwell."),
				{Kind: "log", File: f, Line: 9087, Text: "Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed.", Note: "the symptom"},
			},
			Remedies: []finding.Remedy{
				{Title: "ask the checkpoint, 5 s, no GPU", Script: "shakedown inspect /models/Falcon-9-NVFP4 --engine sglang@0.5.9 --gpu sm120", Decides: []string{"SGL-NUM-003"}},
				{
					Title: "both suspects off in one launch", Price: "KV cache 371k -> ~228k tokens, dense attention", Decides: []string{"SGL-NUM-003", "SGL-KV-002"},
					Changes: []finding.Change{{Kind: "env", Name: "SGLANG_ENABLE_JIT_DEEPGEMM", To: ptr("0")}, {Kind: "flag", Name: "--kv-cache-dtype", To: ptr("bf16")}},
					Script:  "SGLANG_ENABLE_JIT_DEEPGEMM=0 python -m sglang.launch_server --model-path /models/Falcon-9-NVFP4 \\\n  --tp 8 --quantization modelopt_fp4 --kv-cache-dtype bf16 --attention-backend flashinfer --port 8000",
				},
			},
			Decide:  []string{"the scale tensors of the checkpoint: powers of two or not"},
			Sources: []string{"sglang 19948"},
		},
		&finding.FindingMsg{
			Launch: 1, Rank: 2, ID: "SGL-KV-002", Cause: "kv-cache-dtype", Severity: finding.Error, Confidence: finding.Possible, Role: "cause",
			Title: "the FP8 KV record does not fit the attention kernel", Explains: []string{"symptom"},
			Evidence: []finding.Evidence{log(f, 61, "[2026-02-19 00:19:10] WARNING server_args.py:1177: Set NSA backends for fp8_e4m3 KV Cache: prefill=flashmla_auto, decode=flashmla_kv.")},
			Remedies: []finding.Remedy{{Title: "a 16-bit KV cache", Changes: []finding.Change{
				{Kind: "flag", Name: "--kv-cache-dtype", To: ptr("bf16")}, {Kind: "flag", Name: "--enable-foo", From: ptr("")}, {Kind: "env", Name: "FOO", To: ptr("1")},
			}}},
			Decide: []string{"one launch with --kv-cache-dtype bf16"},
		},
		&finding.FindingMsg{
			Launch: 1, Rank: 3, ID: "GEN-SIGQUIT", Cause: "server-bug", Severity: finding.Error, Confidence: finding.Proven, Role: "consequence",
			Title: "the scheduler's end takes the server down", Explains: []string{"GEN-ASSERT"}, Evidence: []finding.Evidence{log(f, 9170, "Received sigquit from a child process. It usually means the child failed.")},
		},
		&finding.FindingMsg{
			Launch: 1, Rank: 4, ID: "GEN-ASSERT", Cause: "server-bug", Severity: finding.Error, Confidence: finding.Proven, Role: "consequence",
			Title: "a device-side assert ends the scheduler", Explains: []string{"SGL-NUM-003"}, Evidence: []finding.Evidence{log(f, 9100, "torch.AcceleratorError: CUDA error: device-side assert triggered")},
		},
		&finding.NotItMsg{Launch: 1, ID: "GEN-ASYNC", Title: "the sampler's frame", Why: "CUDA reports errors late, so the frame that reports one is not its cause", Evidence: []finding.Evidence{log(f, 9093, "CUDA kernel errors might be asynchronously reported at some other API call")}},
		&finding.NotItMsg{Launch: 1, ID: "GEN-EXTLIST", Title: "the list of scipy and sklearn modules", Why: "every fatal error of the interpreter prints it", Evidence: []finding.Evidence{log(f, 9164, ", scipy.spatial._distance_wrap")}},
		&finding.SettingMsg{Launch: 1, Name: "kv_cache_dtype", Asked: finding.Asked{}, Effective: "fp8_e4m3", ChosenBy: "unknown"},
		&finding.SettingMsg{Launch: 1, Name: "nsa_decode_backend", Asked: finding.Asked{Known: true}, Effective: "flashmla_kv", ChosenBy: "coupling", Choice: "SGL-NSA-KV-001", Coupled: []string{"kv_cache_dtype"}, Because: []finding.Evidence{log(f, 61, "Set NSA backends for fp8_e4m3 KV Cache")}},
		&finding.SettingMsg{Launch: 1, Name: "attention_backend", Asked: finding.Asked{Known: true, Value: ptr("flashinfer")}, Effective: "nsa", ChosenBy: "model", Silent: true, Because: []finding.Evidence{log(f, 58, "Use nsa attention backend")}},
		&finding.SettingMsg{Launch: 1, Name: "tp_size", Asked: finding.Asked{Known: true, Value: ptr("8")}, Effective: "8", ChosenBy: "user"},
		&finding.SettingMsg{Launch: 1, Name: "page_size", Asked: finding.Asked{}, Effective: "64", ChosenBy: "unknown"},
		&finding.EndMsg{Launches: 1, Findings: 4, ExitCode: 3},
	}
}

func healthy() []finding.Message {
	const f = "ok.log"
	return []finding.Message{
		open(),
		&finding.LaunchMsg{
			N: 1, Files: []string{f}, Engine: "vllm", EngineVersion: "0.11.0", VersionExact: true, FirstLine: 1, LastLine: 120,
			Outcome: finding.OK, Phase: "runtime", Model: "acme/Rocket-8B-Instruct", Hardware: "1x H100", Parallel: "tp 1",
			Milestones: []finding.Milestone{
				{Name: "weights loaded", Phase: "load", File: f, Line: 40, Seconds: 12.25},
				{Name: "ready", Phase: "ready", File: f, Line: 88, Seconds: 47.5},
			},
		},
		&finding.SettingMsg{Launch: 1, Name: "attention_backend", Asked: finding.Asked{Known: true}, Effective: "FLASH_ATTN", ChosenBy: "hardware", Because: []finding.Evidence{log(f, 30, "Using FLASH_ATTN attention backend")}},
		&finding.EndMsg{Launches: 1},
	}
}

func latent() []finding.Message {
	const f = "capped.log"
	return []finding.Message{
		open(),
		&finding.LaunchMsg{
			N: 1, Files: []string{f}, Engine: "llamacpp", EngineVersion: "b6700", VersionExact: true, FirstLine: 1, LastLine: 200,
			Outcome: finding.OK, Model: "rocket-8b-q4_k_m.gguf", Hardware: "2x RTX 4090",
			Command:    []string{"llama-server", "-m", "/srv/it's here/rocket.gguf", "--api-key", "velvet-otter-9", "-c", "131072"},
			Milestones: []finding.Milestone{{Name: "ready", Phase: "ready", File: f, Line: 199, Seconds: 8000}},
		},
		&finding.FindingMsg{
			Launch: 1, Rank: 1, ID: "LCP-CTX-001", Cause: "context-length", Severity: finding.Warning, Confidence: finding.Proven, Role: "latent",
			Title: "the context is smaller than what the model was trained for", Evidence: []finding.Evidence{log(f, 77, "llama_context: n_ctx_per_seq (32768) < n_ctx_train (131072) -- the full capacity of the model will not be utilized")},
			Remedies: []finding.Remedy{{Title: "one slot instead of four", Command: []string{"llama-server", "-m", "/srv/it's here/rocket.gguf", "-np", "1"}, Env: map[string]string{"CUDA_VISIBLE_DEVICES": "0,1"}}},
		},
		&finding.EndMsg{Launches: 1, Findings: 1, ExitCode: 3},
	}
}

func stopped() []finding.Message {
	const f = "stopped.log"
	return []finding.Message{
		open(),
		&finding.LaunchMsg{N: 1, Files: []string{f}, Engine: "vllm", EngineVersion: "0.10.2", VersionExact: true, FirstLine: 1, LastLine: 64, Outcome: finding.Stopped, Phase: "load", Verdict: "stopped by the user while loading weights"},
		&finding.SymptomMsg{Launch: 1, Title: "interrupted from the keyboard", Evidence: []finding.Evidence{log(f, 60, "KeyboardInterrupt")}},
		&finding.EndMsg{Launches: 1},
	}
}

func cantTell() []finding.Message {
	const f = "cut.log"
	return []finding.Message{
		open(),
		&finding.LaunchMsg{N: 1, Files: []string{f}, Engine: "sglang", FirstLine: 1, LastLine: 300, Outcome: finding.Stalled, Phase: "load", NextMissing: "weights loaded", ErrorLines: 4},
		&finding.FindingMsg{
			Launch: 1, Rank: 1, ID: "GEN-STALL", Cause: "unclear", Severity: finding.Error, Confidence: finding.Possible, Role: "cause", Title: "the log ends while weights are loading",
			Evidence: []finding.Evidence{log(f, 300, "Loading safetensors checkpoint shards:  40% Completed | 2/5 [01:10<01:44, 34.9s/it]")},
			Decide:   []string{"the kernel's log: dmesg -T | grep -i 'killed process'", "the log of the same launch two minutes later"},
		},
		&finding.UnexplainedMsg{Launch: 1, Count: 1, File: f, Line: 120, Text: "[E] frobnicator: lost the crankshaft"},
		&finding.UnexplainedMsg{Launch: 1, Count: 3, File: f, Line: 110, Text: "error: 日本語のメッセージがここにあり、とても長いので端末の幅には収まらないはずです、たぶん、きっと"},
		&finding.DriftMsg{Launch: 1, ID: "SGL-LOAD-END", Count: 1, File: f, Line: 99, Text: "Load weight done in 12 seconds"},
		&finding.EndMsg{Launches: 1, Findings: 1, ExitCode: 5},
	}
}

func multinode() []finding.Message {
	const f0, f1 = "logs/node0.log", "logs/node1.log"
	return []finding.Message{
		open(),
		&finding.LaunchMsg{
			N: 1, Files: []string{f0, f1}, Missing: []string{"node 2"}, Engine: "sglang", EngineVersion: "0.5.8", VersionExact: true, FirstLine: 1, LastLine: 410,
			Outcome: finding.Failed, Phase: "load", Model: "acme/Rocket-70B", Hardware: "3 nodes, 8x H100 each", Parallel: "tp 24",
			Milestones: []finding.Milestone{{Name: "distributed ready", Phase: "load", File: f0, Line: 80, Seconds: 31}}, NextMissing: "weights loaded",
			Ranks: []finding.RankState{
				{File: f0, Rank: "TP0", Last: "distributed ready", Line: 80}, {File: f0, Rank: "TP1", Last: "distributed ready", Line: 81},
				{File: f0, Rank: "TP3", Last: "distributed ready", Line: 83},
				{File: f1, Rank: "TP8", Last: "process group started", Line: 40, Ended: "exception :88"},
			},
		},
		&finding.SymptomMsg{Launch: 1, Title: "the other ranks time out", Evidence: []finding.Evidence{log(f0, 400, "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 16/24 clients joined.")}},
		&finding.FindingMsg{
			Launch: 1, Rank: 1, ID: "GEN-DISK-001", Cause: "host-limits", Severity: finding.Error, Confidence: finding.Proven, Role: "cause", Title: "the model directory does not exist on node 1",
			Why: "Every node reads the weights from its own disk.", Explains: []string{"symptom"}, Ranks: []string{"TP8"}, Folded: 1,
			Evidence: []finding.Evidence{log(f1, 88, "FileNotFoundError: [Errno 2] No such file or directory: '/data/rocket-70b/config.json'")},
			Remedies: []finding.Remedy{{Title: "copy the model to node 1", Text: "rsync the directory, or mount the same share on every node.", Price: "minutes to hours, by size"}},
		},
		&finding.EndMsg{Launches: 1, Findings: 1, ExitCode: 3},
	}
}

// restarts is a server that a supervisor starts n times: it runs out of memory
// each time but the last.
func restarts(n int) []finding.Message {
	f := "restarts.log"
	ms := []finding.Message{open()}
	for i := 1; i <= n; i++ {
		first := (i-1)*100 + 1
		l := &finding.LaunchMsg{
			N: i, Files: []string{f}, Engine: "vllm", EngineVersion: "0.9.2", VersionExact: true, FirstLine: first, LastLine: first + 99,
			Outcome: finding.Failed, Phase: "kv-alloc", Model: "acme/Rocket-8B", Hardware: "1x L4",
		}
		if i == n {
			l.Outcome = finding.OK
			ms = append(ms, l)
			continue
		}
		ms = append(ms, l,
			&finding.SymptomMsg{Launch: i, Title: "the engine core ends", Evidence: []finding.Evidence{log(f, first+90, "RuntimeError: Engine core initialization failed.")}},
			&finding.FindingMsg{
				Launch: i, Rank: 1, ID: "VLLM-KV-001", Cause: "oom-kv", Severity: finding.Error, Confidence: finding.Proven, Role: "cause", Title: "one request of full length does not fit the KV cache",
				Evidence: []finding.Evidence{log(f, first+80, fmt.Sprintf("ValueError: To serve at least one request with the models's max seq len (40960), %d.5 GiB KV cache is needed", i))},
				Remedies: []finding.Remedy{{Title: "a shorter context", Price: "requests beyond 16k tokens are refused", Script: "vllm serve acme/Rocket-8B --max-model-len 16384"}},
			})
	}
	return append(ms, &finding.EndMsg{Launches: n, Findings: n - 1})
}

func unreadable() []finding.Message {
	return []finding.Message{
		open(),
		&finding.ErrorMsg{Text: "notes.txt: no inference engine recognised", Next: "shakedown explain --engine vllm notes.txt", ExitCode: 4},
		&finding.EndMsg{ExitCode: 4},
	}
}

func engineSays(file, text, field, note string) finding.Evidence {
	return finding.Evidence{Kind: "engine", File: file, Text: text, Field: field, Note: note}
}

// planned is a launch that was not started: it would start, with an override
// that has no effect and a known trouble.
func planned() []finding.Message {
	command := []string{"python", "-m", "sglang.launch_server", "--model-path", "/models/Falcon-9-NVFP4", "--tp", "8", "--nsa-decode-backend", "flashmla_sparse", "--kv-cache-dtype", "auto"}
	dsa := engineSays("sglang/srt/server_args.py _handle_model_specific_adjustments (0.5.10)", "Set NSA backends for fp8_e4m3 KV Cache: prefill=trtllm, decode=trtllm.", "nsa_decode_backend: flashmla_sparse -> trtllm", "the kernels of sparse attention follow the KV cache dtype and the GPU")
	kv := engineSays("sglang/srt/server_args.py _handle_model_specific_adjustments (0.5.10)", "Setting KV cache dtype to fp8_e4m3 for DeepSeek DSA.", "kv_cache_dtype: auto -> fp8_e4m3", "with sparse attention auto is fp8_e4m3 from compute capability 10 on")
	return []finding.Message{
		open(),
		&finding.LaunchMsg{
			N: 1, Engine: "sglang", EngineVersion: "0.5.10", VersionNote: "sglang 0.5.10 is planned as 0.5.10.post1, which mends it", Outcome: finding.Planned,
			Verdict: "starts, with 1 override ignored and 1 known trouble", Model: "/models/Falcon-9-NVFP4", Hardware: "8x NVIDIA RTX PRO 6000 Blackwell Server Edition (SM 12.0)", Parallel: "tp 8",
			Command: command, Notes: []string{"libraries as sglang 0.5.10.post1 pins them: transformers 5.3.0 (--with NAME=VERSION)"},
		},
		&finding.IgnoredMsg{
			Launch: 1, Name: "nsa_decode_backend", Flag: "--nsa-decode-backend", Asked: "flashmla_sparse", Effective: "trtllm", ChosenBy: "hardware", Choice: "SGL-DSA-BACKENDS-001",
			Coupled: []string{"kv_cache_dtype"}, Why: "the kernels of sparse attention follow the KV cache dtype and the GPU", Because: []finding.Evidence{dsa},
			Remedies: []finding.Remedy{{Title: "with --kv-cache-dtype bf16", Changes: []finding.Change{{Kind: "flag", Name: "--kv-cache-dtype", To: ptr("bf16")}}}},
		},
		&finding.FindingMsg{
			Launch: 1, Rank: 1, ID: "SGL-KERN-300", Cause: "kernel-unsupported", Severity: finding.Error, Confidence: finding.Likely, Role: "latent",
			Title: "the sparse attention backends have no kernel for this GPU", Why: "The kernels behind these backends are compiled for other GPUs.", Basis: "the backends against the architectures of their kernels",
			Evidence: []finding.Evidence{dsa, {Kind: "config", File: "config.json", Field: "checkpoint.scale_fmt = none"}},
			Remedies: []finding.Remedy{{
				Title: "dense attention with kernels of this GPU", Price: "slower at long context", Changes: []finding.Change{{Kind: "flag", Name: "--attention-backend", To: ptr("flashinfer")}},
				Script: "python -m sglang.launch_server --model-path /models/Falcon-9-NVFP4 --tp 8 \\\n  --nsa-decode-backend flashmla_sparse --kv-cache-dtype auto --attention-backend flashinfer",
			}},
			Decide: []string{"one launch with --attention-backend flashinfer"},
		},
		&finding.MemoryMsg{
			Launch: 1, Total: 95.59, Left: 14.1, KVTokens: 370752, BytesPerToken: 55224, Fits: true, Text: "fits, with room for 370752 tokens",
			Items: []finding.MemoryItem{{Name: "start-up", Size: 1.45, How: "an estimate"}, {Name: "weights", Size: 59.9, How: "743.9 billion weights"}, {Name: "KV cache", Size: 19.07, How: "370752 tokens of 55224 bytes"}},
			Notes: []string{"the vision part is counted roughly"},
		},
		&finding.SettingMsg{Launch: 1, Name: "nsa_decode_backend", Asked: finding.Asked{Known: true, Value: ptr("flashmla_sparse")}, Effective: "trtllm", ChosenBy: "hardware", Choice: "SGL-DSA-BACKENDS-001", Coupled: []string{"kv_cache_dtype"}, Silent: true, Because: []finding.Evidence{dsa}},
		&finding.SettingMsg{Launch: 1, Name: "kv_cache_dtype", Asked: finding.Asked{Known: true, Value: ptr("auto")}, Effective: "fp8_e4m3", ChosenBy: "hardware", Choice: "SGL-KV-DSA-001", Because: []finding.Evidence{kv}},
		&finding.SettingMsg{Launch: 1, Name: "page_size", Asked: finding.Asked{Known: true}, Effective: "64", ChosenBy: "model", Choice: "SGL-PAGE-DSA-001", Because: []finding.Evidence{kv}},
		&finding.SettingMsg{Launch: 1, Name: "cuda_graph_bs", Asked: finding.Asked{Known: true}, Effective: "52 values, 1..512, sum 10515", ChosenBy: "coupling", Choice: "SGL-MEM-GRAPH-LIST", Coupled: []string{"cuda_graph_max_bs"}},
		&finding.SettingMsg{Launch: 1, Name: "tp_size", Asked: finding.Asked{Known: true, Value: ptr("8")}, Effective: "8", ChosenBy: "user"},
		&finding.SettingMsg{Launch: 1, Name: "a", Asked: finding.Asked{Known: true}, Effective: "1", ChosenBy: "coupling", Choice: "X", Coupled: []string{"b"}, Silent: true},
		&finding.SettingMsg{Launch: 1, Name: "b", Asked: finding.Asked{Known: true}, Effective: "2", ChosenBy: "coupling", Choice: "Y", Coupled: []string{"a"}, Silent: true},
		&finding.EndMsg{Launches: 1, Findings: 1, ExitCode: 3},
	}
}

// plannedRefused is a launch that would not start, in two ways.
func plannedRefused() []finding.Message {
	return []finding.Message{
		open(),
		&finding.LaunchMsg{
			N: 1, Files: []string{"run.sh"}, Engine: "vllm", EngineVersion: "0.24.0", VersionExact: true, Outcome: finding.Planned,
			Verdict: "refused by its argument parser", Model: "acme/Rocket-8B", Hardware: "NVIDIA L4 (SM 8.9)", Command: []string{"vllm", "serve", "acme/Rocket-8B", "--old", "1"},
			CommandFrom: &finding.Evidence{Kind: "command", File: "run.sh", Line: 4},
		},
		&finding.RefusedMsg{
			Launch: 1, Kind: "renamed", Stage: "parse", Name: "--old", Text: "--old is called --new since 0.20.0", Error: "unrecognized arguments: --old 1",
			Remedies: []finding.Remedy{{Title: "write --new", Changes: []finding.Change{{Kind: "flag", Name: "--old"}, {Kind: "flag", Name: "--new", To: ptr("1")}}}},
		},
		&finding.RefusedMsg{Launch: 1, Kind: "combination", Stage: "attention", Text: "with that mended, vllm refuses this launch when it selects the attention backend", Error: "ValueError: No valid attention backend found"},
		&finding.MemoryMsg{Launch: 1, Total: 22.49, Left: -3.5, Text: "too large: 24.0 GiB of weights", Items: []finding.MemoryItem{{Name: "weights", Size: 24, How: "counted"}}},
		&finding.EndMsg{Launches: 1, ExitCode: 3},
	}
}
