package sglang

import "shakedown/internal/engine"

const (
	whyDeprecated  = "An old spelling that still works; the new one was set for you."
	whyOptional    = "An optional package or model class is missing; only models that need it are affected."
	whyAfterEnd    = "Printed while the server ends; it says nothing about the reason."
	whyPeerGone    = "A transfer link broke because the other end is gone, as at every shut-down; the other end's log tells why."
	whyUserWarning = "A remark of a Python library to its developers, printed on healthy servers too."
	srcCapture     = "sglang/srt/model_executor/cuda_graph_runner.py, runner_backend_utils"
	whyAdvice      = "This list of advice is printed for every failed capture, whatever the cause."
)

// noiseLines look like errors and stand in the logs of healthy servers too.
var noiseLines = []engine.Line{
	{
		ID: "SGL-NOISE-MODEL-IMPORT", Kind: engine.Noise, Anchor: "Ignore import error when loading ",
		Why: whyOptional, Source: "sglang/srt/models/registry.py",
	},
	{
		ID: "SGL-NOISE-IMPORT-REPORT", Kind: engine.Noise, Anchor: " reports ImportError with:",
		Patterns: []string{"Ignore <module> reports ImportError with:"},
		Why:      whyOptional, Source: "sglang/srt/utils/common.py",
	},
	{
		ID: "SGL-NOISE-TORCHAO", Kind: engine.Noise, Anchor: "Skipping import of cpp extensions",
		Why: "torchao was built for another torch; its extensions are not used for serving.", Source: "torchao",
	},
	{
		ID: "SGL-NOISE-AMDSMI", Kind: engine.Noise, Anchor: "Failed to import amdsmi",
		Why: "A monitoring package is missing; serving does not need it.", Source: "sglang/srt/distributed/device_communicators",
	},
	{
		ID: "SGL-NOISE-QUICKREDUCE", Kind: engine.Noise, Anchor: "Failed to initialize QuickAllReduce: ",
		Why: "An optional all-reduce could not be set up; another one is used.", Source: "sglang/srt/distributed/parallel_state.py",
	},
	{
		ID: "SGL-NOISE-NCCL-LIBRARY", Kind: engine.Noise, Anchor: "It is expected if you are not running on NVIDIA/AMD/MTHREADS GPUs",
		Why: "No NCCL library is needed without GPUs.", Source: "sglang/srt/distributed/device_communicators/pynccl_wrapper.py",
	},
	{
		ID: "SGL-NOISE-CUDA-ARCH", Kind: engine.Noise, Anchor: "Cannot detect CUDA architecture.",
		Why: "Printed on machines without a CUDA GPU.", Source: "sglang/srt/utils/common.py",
	},
	{
		ID: "SGL-NOISE-CUTE-WALK", Kind: engine.Noise, Anchor: "Unexpected error during package walk: cutlass.cute",
		Why: "CUTLASS looks through its own package at import; the missing part is not used.", Source: "nvidia-cutlass-dsl",
	},
	{
		ID: "SGL-NOISE-GENERATION-CONFIG", Kind: engine.Noise, Anchor: "Failed to load generation config for ",
		Why: "The checkpoint has no generation_config.json; the engine's default sampling is used.", Source: "sglang/srt/utils/hf_transformers",
	},
	{
		ID: "SGL-NOISE-HF-TOKEN", Kind: engine.Noise, Anchor: "unauthenticated requests to the HF Hub",
		Why: "Downloads without a token may be slower; they work.", Source: "huggingface_hub",
	},
	{
		ID: "SGL-NOISE-HF-CACHE", Kind: engine.Noise, Anchor: "Could not cache non-existence of file. Will ignore error",
		Why: "The model cache is read-only; nothing needs to be written.", Source: "huggingface_hub",
	},
	{
		ID: "SGL-NOISE-HF-LOOKUP", Kind: engine.Noise, Anchor: "HTTP Request: ",
		Patterns: []string{"HTTP Request: HEAD https://<_>", "HTTP Request: GET https://<_>"},
		Why:      "The model hub was asked for an optional file; 302, 307 and 404 are usual answers.", Source: "huggingface_hub",
	},
	{
		ID: "SGL-NOISE-HEALTH-503", Kind: engine.Noise, Anchor: `HTTP/1.1" 503 Service Unavailable`,
		Why: "A client asked before the server was ready, or while it was shutting down.", Source: srcServer,
	},
	{
		ID: "SGL-NOISE-GPU-MEMORY", Kind: engine.Noise, Anchor: "Failed to get GPU memory capacity from ",
		Why: "GPUs that share the host's memory report none to nvidia-smi; torch was asked instead.", Source: "sglang/srt/utils/common.py",
	},
	{
		ID: "SGL-NOISE-RLIMIT", Kind: engine.Noise, Anchor: "Fail to set RLIMIT_",
		Why: "The limit could not be raised; it matters only when it is reached.", Source: "sglang/srt/utils/common.py",
	},
	{
		ID: "SGL-NOISE-NUMA", Kind: engine.Noise, Anchor: " is larger than numa node number ",
		Why: "More ranks than NUMA nodes; only the automatic memory sizing of the CPU server is affected.", Source: "sglang/srt/utils/numa_utils.py",
	},
	{
		ID: "SGL-NOISE-CPU-BIND", Kind: engine.Noise, Anchor: "SGLANG_CPU_OMP_THREADS_BIND is set for explicit control",
		Why: "The cores were bound as asked.", Source: "sglang/srt/utils/common.py",
	},
	{
		ID: "SGL-NOISE-QUANT-SPEED", Kind: engine.Noise, Anchor: " quantization is not fully optimized yet.",
		Why: "A remark on speed for every quantisation outside a short list.", Source: "sglang/srt/configs/model_config.py",
	},
	{
		ID: "SGL-NOISE-KERNEL-CONFIG", Kind: engine.Noise, Anchor: "Performance might be sub-optimal!",
		Why: "No tuned kernel sizes are stored for this GPU and shape; the defaults are slower and right.", Source: "sglang/srt/layers",
	},
	{
		ID: "SGL-NOISE-DEEPGEMM-COMPILE", Kind: engine.Noise, Anchor: "Entering DeepGEMM JIT ",
		Why: "Kernels are compiled once, which can take many minutes; the server is not stuck.", Source: "sglang/srt/layers/deep_gemm_wrapper/compile_utils.py",
	},
	{
		ID: "SGL-NOISE-AUTOTUNE", Kind: engine.Noise, Anchor: "[Autotuner]: ",
		Why: "FlashInfer tries kernel variants and skips those that do not run here.", Source: "flashinfer",
	},
	{
		ID: "SGL-NOISE-MLIR", Kind: engine.Noise, Anchor: "operation scheduled before its operands",
		Why: "A message of the Triton compiler that it calls ignorable itself.", Source: "triton",
	},
	{
		ID: "SGL-NOISE-CUFFT", Kind: engine.Noise, Anchor: "Unable to register cu",
		Why: "TensorFlow was loaded beside torch; serving does not use it.", Source: "tensorflow",
	},
	{
		ID: "SGL-NOISE-EXTENSIONS", Kind: engine.Noise, Anchor: "Extension modules: ",
		Why: "After a fatal error Python lists every native module that is loaded; none of them is to blame.", Source: "CPython faulthandler",
	},
	{
		ID: "SGL-NOISE-EXTENSIONS-TAIL", Kind: engine.Noise, Anchor: "sklearn.__check_build._check_build",
		Why: "After a fatal error Python lists every native module that is loaded; none of them is to blame.", Source: "CPython faulthandler",
	},
	{
		ID: "SGL-NOISE-RESOURCE-TRACKER", Kind: engine.Noise, Anchor: "resource_tracker: ",
		Why: "Python's clean-up helper reports what it found; it never ends a server.", Source: "CPython multiprocessing",
	},
	{
		ID: "SGL-NOISE-PROCESS-GROUP", Kind: engine.Noise, Anchor: "destroy_process_group() was not called",
		Why: whyAfterEnd, Source: "torch.distributed",
	},
	{
		ID: "SGL-NOISE-CRASH-SETTLE", Kind: engine.Noise, Anchor: "before crash diagnostics to let GPU activity settle",
		Why: whyAfterEnd, Source: "sglang/srt/managers/tokenizer_manager.py",
	},
	{
		ID: "SGL-NOISE-CRASH-PYSPY", Kind: engine.Noise, Anchor: "skipping py-spy and CUDA coredump",
		Why: whyAfterEnd, Source: "sglang/srt/managers/tokenizer_manager.py",
	},
	{
		ID: "SGL-NOISE-CRASH-DUMP", Kind: engine.Noise, Anchor: "requests before crash",
		Patterns: []string{"Dumping requests before crash.", "Dumped <_> unfinished requests before crash to <file>"},
		Why:      "Open requests are written to a file; this happens at every end, also at an asked one.", Source: "sglang/srt/managers/tokenizer_manager.py",
	},
	{
		ID: "SGL-NOISE-CRASH-DONE", Kind: engine.Noise, Anchor: "crash dump already performed, skipping",
		Why: whyAfterEnd, Source: "sglang/srt/managers/tokenizer_manager.py",
	},
	{
		ID: "SGL-NOISE-PYSPY", Kind: engine.Noise, Anchor: "Pyspy ",
		Patterns: []string{"Pyspy dump for PID <pid>", "Pyspy failed"},
		Why:      "A listing of where the processes were, made by the watchdog; it holds no exception.", Source: "sglang/srt/utils/common.py",
	},
	{
		ID: "SGL-NOISE-WATCHDOG-SOFT", Kind: engine.Noise, Anchor: "self.soft=True)",
		Patterns: []string{"watchdog timeout (self.watchdog_timeout=<seconds>, self.soft=True)"},
		Why:      "The soft watchdog only lists where the processes are; the server goes on.", Source: "sglang/srt/utils/watchdog.py",
	},
	{
		ID: "SGL-NOISE-ADVICE", Kind: engine.Noise, Anchor: "Possible solutions:",
		Why: whyAdvice, Source: srcCapture,
	},
	{
		ID: "SGL-NOISE-ADVICE-SIZE", Kind: engine.Noise, Anchor: " to a smaller value (e.g., ",
		Patterns: []string{
			". set --mem-fraction-static to a smaller value (e.g., ",
			". set --cuda-graph-max-bs<_> to a smaller value (e.g., ",
			". set --torch-compile-max-bs to a smaller value (e.g., ",
		},
		Why: whyAdvice, Source: srcCapture,
	},
	{
		ID: "SGL-NOISE-ADVICE-COMPILE", Kind: engine.Noise, Anchor: ". disable torch compile by not using --enable-torch-compile",
		Why: whyAdvice, Source: srcCapture,
	},
	{
		ID: "SGL-NOISE-ADVICE-GRAPH", Kind: engine.Noise, Anchor: " graph by --",
		Patterns: []string{". disable <what> graph by --"},
		Why:      whyAdvice, Source: srcCapture,
	},
	{
		ID: "SGL-NOISE-ADVICE-ISSUE", Kind: engine.Noise, Anchor: "Open an issue on GitHub https://github.com/sgl-project/sglang",
		Why: whyAdvice, Source: srcCapture,
	},
	{
		ID: "SGL-NOISE-DEPRECATED-FLAG", Kind: engine.Noise, Anchor: " is deprecated and will be removed in a future release. Use '--",
		Why: whyDeprecated, Source: "sglang/srt/arg_groups/argparse_actions.py",
	},
	{
		ID: "SGL-NOISE-DEPRECATED-SWITCH", Kind: engine.Noise, Anchor: " is deprecated. Please use --",
		Why: whyDeprecated, Source: "sglang/srt/arg_groups/serving_hook.py",
	},
	{
		ID: "SGL-NOISE-DEPRECATED-ARGUMENT", Kind: engine.Noise, Anchor: "is deprecated and will be removed in future versions",
		Why: whyDeprecated, Source: srcArgs,
	},
	{
		ID: "SGL-NOISE-DEPRECATED-OPTION", Kind: engine.Noise, Anchor: "will be deprecated in the next release. Please use '--",
		Why: whyDeprecated, Source: srcArgs + " of 0.3",
	},
	{
		ID: "SGL-NOISE-DEPRECATED-ENDPOINT", Kind: engine.Noise, Anchor: "is deprecated and will be removed in a future version. Please use '/",
		Why: "A client asks an old address; it is answered all the same.", Source: srcServer,
	},
	{
		ID: "SGL-NOISE-LAUNCH-MODULE", Kind: engine.Noise, Anchor: "'python -m sglang.launch_server' is still supported",
		Why: "The old way to start the server works as before.", Source: "sglang/launch_server.py",
	},
	{
		ID: "SGL-NOISE-AWQ", Kind: engine.Noise, Anchor: "XPU support AWQ currently.",
		Why: "This platform has no kernels for one quantisation; models without it are not affected.", Source: "sglang/srt/layers/quantization/awq",
	},
	{
		ID: "SGL-NOISE-GGUF", Kind: engine.Noise, Anchor: " support GGUF quantization currently.",
		Why: "This platform has no kernels for one quantisation; models without it are not affected.", Source: "sglang/srt/layers/quantization/gguf.py",
	},
	{
		ID: "SGL-NOISE-TRITON-CPU", Kind: engine.Noise, Anchor: "Triton is not supported on current platform, roll back to CPU",
		Why: "Expected on a machine without a GPU.", Source: "sglang/kernels/ops/attention/fla/utils.py",
	},
	{
		ID: "SGL-NOISE-SLOW-TOKENIZER", Kind: engine.Noise, Anchor: "Using a slow tokenizer. This might cause a significant slowdown",
		Why: "The model has no fast tokenizer; only tokenizing takes longer.", Source: "sglang/srt/utils/hf_transformers",
	},
	{
		ID: "SGL-NOISE-WARNINGS-WARN", Kind: engine.Noise, Anchor: "  warnings.warn(",
		Why: "The source line of a Python warning; the warning stands above it.", Source: "CPython warnings",
	},
	{
		ID: "SGL-NOISE-FUTURE-WARNING", Kind: engine.Noise, Anchor: ": FutureWarning: ",
		Why: whyUserWarning, Source: "CPython warnings",
	},
	{
		ID: "SGL-NOISE-SYNTAX-WARNING", Kind: engine.Noise, Anchor: ": SyntaxWarning: ",
		Why: whyUserWarning, Source: "CPython warnings",
	},
	{
		ID: "SGL-NOISE-RESOURCE-WARNING", Kind: engine.Noise, Anchor: ": ResourceWarning: unclosed ",
		Why: whyUserWarning, Source: "CPython warnings",
	},
	{
		ID: "SGL-NOISE-FASTAPI-WARNING", Kind: engine.Noise, Anchor: ": FastAPIDeprecationWarning: ",
		Why: whyUserWarning, Source: "fastapi",
	},
	{
		ID: "SGL-NOISE-OPERATION-ID", Kind: engine.Noise, Anchor: "UserWarning: Duplicate Operation ID ",
		Why: "Two routes share a name in the generated API page.", Source: "fastapi",
	},
	{
		ID: "SGL-NOISE-NUMPY-READONLY", Kind: engine.Noise, Anchor: "UserWarning: The given NumPy array is not writable",
		Why: whyUserWarning, Source: "torch",
	},
	{
		ID: "SGL-NOISE-PYTREE", Kind: engine.Noise, Anchor: "Calling register_constant() on Enum subclasses is deprecated",
		Why: whyUserWarning, Source: "torch",
	},
	{
		ID: "SGL-NOISE-NPU-PATCH", Kind: engine.Noise, Anchor: "torch_npu/contrib/transfer_to_npu.py:",
		Why: "Ascend's torch replaces CUDA calls by its own and says so.", Source: "torch_npu",
	},
	{
		ID: "SGL-NOISE-NPU-TORCHAIR", Kind: engine.Noise, Anchor: "The following torchair config or properties may not take effect",
		Why: "A remark on settings of Ascend's graph compiler that this mode does not read.", Source: "torch_npu",
	},
	{
		ID: "SGL-NOISE-NPU-DRIVER", Kind: engine.Noise, Anchor: `Warning: Driver Version: "`,
		Why: "A container without Ascend's driver files cannot read the driver's version.", Source: "torch_npu",
	},
	{
		ID: "SGL-NOISE-NPU-CAPTURE", Kind: engine.Noise, Anchor: "Warning: Waiting for pending NCCL work to finish before starting graph capture",
		Why: "Ascend's torch waits for a collective before it captures a graph.", Source: "torch_npu",
	},
	{
		ID: "SGL-NOISE-NPU-LINK", Kind: engine.Noise, Anchor: "[AccLink acc_",
		Why: whyPeerGone, Source: "Ascend memfabric",
	},
	{
		ID: "SGL-NOISE-NPU-STORE", Kind: engine.Noise, Anchor: "[SMEM smem_",
		Why: whyPeerGone, Source: "Ascend memfabric",
	},
	{
		ID: "SGL-NOISE-PIP-ROOT", Kind: engine.Noise, Anchor: "WARNING: Running pip as the 'root' user",
		Why: "A remark of pip in a container.", Source: "pip",
	},
}
