package trtllm

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// Reasons that several wrappers share.
const (
	whyWorker = "a worker has failed; its own error stands before"
	whyMPI    = "MPI ends all processes because one of them ended; the cause is that process's last output"
)

// endLines are failures, their wrappers, and ends.
var endLines = []engine.Line{
	{
		ID: "TRT-FATAL-ARGS", Kind: engine.Fatal, Anchor: "Failed to parse the arguments for the LLM constructor: ",
		Patterns: []string{"Failed to parse the arguments for the LLM constructor: <reason>"},
		Title:    "the arguments were refused", Source: srcLLM,
	},
	{
		ID: "TRT-FATAL-EXECUTOR", Kind: engine.Fatal, Anchor: "Failed to initialize executor on rank ",
		Patterns: []string{"Failed to initialize executor on rank <rank>: <reason>"},
		Title:    "the executor could not be made", Source: srcWorker,
	},
	{
		ID: "TRT-FATAL-FORWARD", Kind: engine.Fatal, Anchor: "Encountered an error in forward function: ",
		Patterns: []string{"Encountered an error in forward function: <reason>"},
		Title:    "a forward pass failed", Source: srcExecutor,
	},
	{
		ID: "TRT-FATAL-LOOP", Kind: engine.Fatal, Anchor: "Error in event loop: ",
		Patterns: []string{"Error in event loop: <reason>"},
		Title:    "the executor's loop failed", Source: srcExecutor,
	},
	{
		ID: "TRT-FATAL-FETCH", Kind: engine.Fatal, Anchor: "Encountered an error when fetching new request: ",
		Patterns: []string{"Encountered an error when fetching new request: <reason>"},
		Title:    "a request could not be taken in", Source: "cpp/tensorrt_llm/executor/executorImpl.cpp",
	},
	{
		ID: "TRT-FATAL-ASSERT", Kind: engine.Fatal, Anchor: "[TensorRT-LLM][ERROR] Assertion failed: ",
		Patterns: []string{"Assertion failed: <condition>"},
		Title:    "an assertion failed", Source: "cpp/tensorrt_llm/common/assert.h",
	},
	{
		ID: "TRT-FATAL-CUDA", Kind: engine.Fatal, Anchor: "CUDA runtime error in ",
		Patterns: []string{"CUDA runtime error in <call>: <what>"},
		Title:    "a CUDA call failed", Source: "cpp/tensorrt_llm/common/cudaUtils.h",
	},
	{
		ID: "TRT-FATAL-MODEL", Kind: engine.Fatal, Anchor: `"failed to load '`,
		Patterns: []string{`failed to load '<model>' version <version>: <reason>"`, `failed to load '<model>'"`},
		Title:    "Triton could not load a model", Source: srcTriton,
	},
	{
		ID: "TRT-FATAL-CAUGHT", Kind: engine.Fatal, Anchor: ": Caught signal ",
		Patterns: []string{"Caught signal <number> (<what>)"},
		Facts:    map[fact.Key]string{fact.Signal: "<number>"},
		Title:    "a process was hit by a fatal signal", Source: "UCX",
	},
	{
		ID: "TRT-FATAL-CAUGHT-SPACE", Kind: engine.Fatal, Anchor: "] Caught signal ",
		Patterns: []string{"Caught signal <number> (<what>)"},
		Facts:    map[fact.Key]string{fact.Signal: "<number>"},
		Title:    "a process was hit by a fatal signal", Source: "UCX",
	},
	{
		ID: "TRT-FATAL-SIGNAL", Kind: engine.Fatal, Anchor: "] Signal: ",
		Patterns: []string{"] Signal: <name> (<number>)"},
		Facts:    map[fact.Key]string{fact.Signal: "<number>"},
		Title:    "a process was hit by a fatal signal", Source: srcMPIRun,
	},
	{
		ID: "TRT-FATAL-TRITON-SEGV", Kind: engine.Fatal, Anchor: "Signal (11) received.",
		Facts: map[fact.Key]string{fact.Signal: "11"},
		Title: "the server crashed with a segmentation fault", Source: srcTriton,
	},
	{
		ID: "TRT-FATAL-TRITON-ABORT", Kind: engine.Fatal, Anchor: "Signal (6) received.",
		Facts: map[fact.Key]string{fact.Signal: "6"},
		Title: "the server aborted itself", Source: srcTriton,
	},
	{
		ID: "TRT-SYMPTOM-HANG", Kind: engine.Symptom, Anchor: "Hang detected on rank ",
		Patterns: []string{"Hang detected on rank <rank> in PyExecutor"},
		Title:    "the executor made no progress for the watchdog's time",
		Why:      "a rank waits for another or for the GPU; the watchdog does not know which",
		Since:    "1.1", Source: srcExecutor,
	},
	{
		ID: "TRT-WRAP-MPI-ABORT", Kind: engine.Wrapper, Anchor: "MPI_ABORT was invoked on rank ",
		Why: whyMPI, Source: srcMPIRun,
	},
	{
		ID: "TRT-WRAP-MPI-CHILD", Kind: engine.Wrapper, Anchor: "terminated normally, but 1 process returned",
		Why: whyMPI, Source: srcMPIRun,
	},
	{
		ID: "TRT-WRAP-MPI-NOTICED", Kind: engine.Wrapper, Anchor: "mpirun noticed that process rank ",
		Why: whyMPI, Source: srcMPIRun,
	},
	{
		ID: "TRT-WRAP-MPI-DETECTED", Kind: engine.Wrapper, Anchor: "mpirun detected that one or more processes exited",
		Why: whyMPI, Source: srcMPIRun,
	},
	{
		ID: "TRT-WRAP-SESSION", Kind: engine.Wrapper, Anchor: "MpiSession shutdown timeout",
		Why: "the workers did not end within a minute after a failure", Source: srcMPI,
	},
	{
		ID: "TRT-WRAP-KILL", Kind: engine.Wrapper, Anchor: "Executor loop crashed on this rank; hard-killing all ",
		Patterns: []string{"Executor loop crashed on this rank; hard-killing all <ranks> ranks in <grace>s<_>"},
		Why:      "one rank ends all of them; its own error stands before", Source: "tensorrt_llm/_torch/pyexecutor/hang_detector.py",
	},
	{
		ID: "TRT-WRAP-SELF-KILL", Kind: engine.Wrapper, Anchor: "HangDetector: self-SIGKILL",
		Why: "a rank ends itself because it, or another one, can't go on; the reason stands before", Source: "tensorrt_llm/_torch/pyexecutor/hang_detector.py",
	},
	{
		ID: "TRT-WRAP-DIED", Kind: engine.Wrapper, Anchor: "Executor worker died during initialization",
		Why: whyWorker, Source: srcProxy,
	},
	{
		ID: "TRT-WRAP-INIT", Kind: engine.Wrapper, Anchor: "Executor worker initialization error",
		Why: whyWorker, Source: srcProxy,
	},
	{
		ID: "TRT-WRAP-RETURNED", Kind: engine.Wrapper, Anchor: "Executor worker returned error",
		Why: whyWorker, Source: srcProxy,
	},
	{
		ID: "TRT-WRAP-TRITON", Kind: engine.Wrapper, Anchor: "creating server: Internal - failed to load all models",
		Why: "Triton ends because a model could not be loaded; its reason stands in the table above", Source: srcTriton,
	},
	{
		ID: "TRT-WRAP-UNAVAILABLE", Kind: engine.Wrapper, Anchor: "| UNAVAILABLE: ",
		Why: "Triton's table repeats why a model could not be loaded", Source: srcTriton,
	},
	{
		ID: "TRT-EXIT", Kind: engine.Exit, Anchor: "INFO:     Finished server process [",
		Title: "the server ended in order", Source: srcUvicorn,
	},
	{
		ID: "TRT-STOP", Kind: engine.Stop, Anchor: "INFO:     Shutting down",
		Title: "the server was told to stop", Source: srcUvicorn,
	},
	{
		ID: "TRT-STOP-TERM", Kind: engine.Stop, Anchor: "Signal (15) received.",
		Title: "stopped with SIGTERM", Source: srcTriton,
	},
	{
		ID: "TRT-STOP-INT", Kind: engine.Stop, Anchor: "Signal (2) received.",
		Title: "interrupted with Ctrl-C", Source: srcTriton,
	},
}
