package lmdeploy

import "shakedown/internal/engine"

// Reasons that several wrappers share.
const whyWorker = "a worker process has failed; its traceback stands before"

// endLines are failures, their wrappers, and ends.
var endLines = []engine.Line{
	{
		ID: "LMD-FATAL-RANK", Kind: engine.Fatal, Anchor: "] failed",
		Patterns: []string{"Proc[<process>] failed", "Rank[<process>] failed"},
		Title:    "a worker process failed", Source: srcMP,
	},
	{
		ID: "LMD-FATAL-LOOP", Kind: engine.Fatal, Anchor: "Engine main loop failed",
		Title: "the engine's loop failed", Since: "0.13", Source: "lmdeploy/pytorch/engine/engine.py",
	},
	{
		ID: "LMD-FATAL-INIT", Kind: engine.Fatal, Anchor: "[Engine][Init] ",
		Patterns: []string{"[Engine][Init] <reason>"},
		Title:    "TurboMind could not be started", Source: srcTriton,
	},
	{
		ID: "LMD-FATAL-WARMUP", Kind: engine.Fatal, Anchor: "[Engine][Warmup] ",
		Patterns: []string{"[Engine][Warmup] <reason>"},
		Title:    "TurboMind's warm-up failed", Source: srcTriton,
	},
	{
		ID: "LMD-FATAL-CUDA", Kind: engine.Fatal, Anchor: "CUDA runtime error: ",
		Patterns: []string{"CUDA runtime error: <what> /", "CUDA runtime error: <what>"},
		Title:    "a CUDA call failed", Source: srcTurboUtil,
	},
	{
		ID: "LMD-FATAL-NCCL", Kind: engine.Fatal, Anchor: "Failed, NCCL error ",
		Patterns: []string{"Failed, NCCL error <file> '<what>'"},
		Title:    "a collective operation failed", Source: "src/turbomind/utils/nccl_utils.cc before 0.7",
	},
	{
		ID: "LMD-FATAL-ASSERT", Kind: engine.Fatal, Anchor: " Assertion fail: ",
		Patterns: []string{"[TM][ERROR] <condition> Assertion fail: <file>"},
		Title:    "an assertion of TurboMind failed", Source: srcTurboUtil,
	},
	{
		ID: "LMD-FATAL-ABORT", Kind: engine.Fatal, Anchor: "[TM][FATAL]",
		Title: "TurboMind aborted itself", Since: "0.14", Source: "src/turbomind/core/logger.cc",
	},
	{
		ID: "LMD-SYMPTOM-LOGITS", Kind: engine.Symptom, Anchor: "Abnormal logits detected for request",
		Title:  "the model computed NaN or Inf",
		Why:    "the check stands after the last layer; it does not know where the numbers went wrong",
		Source: srcBatch,
	},
	{
		ID: "LMD-SYMPTOM-ENGINE", Kind: engine.Symptom, Anchor: "ResponseType.INTERNAL_ENGINE_ERROR",
		Title: "a request ended with an internal error of the engine",
		Why:   "the API layer passes on that the engine failed; the engine's own error stands before",
		Since: "0.9", Source: srcAsync,
	},
	{
		ID: "LMD-WRAP-CHECK", Kind: engine.Wrapper, Anchor: "> check failed!",
		Why: "the check of the environment or the model has failed; the reason stands on the line before", Source: srcCheck + "/base.py",
	},
	{
		ID: "LMD-WRAP-CANCELLED", Kind: engine.Wrapper, Anchor: "] main loop cancelled",
		Why: whyWorker, Source: srcMP,
	},
	{
		ID: "LMD-WRAP-TERMINATION", Kind: engine.Wrapper, Anchor: "Received custom termination signal from sub processing",
		Why: whyWorker, Source: srcMP,
	},
	{
		ID: "LMD-WRAP-LOOP", Kind: engine.Wrapper, Anchor: "EngineLoop wait_tasks failed",
		Why: whyWorker, Since: "0.13", Source: "lmdeploy/pytorch/engine/engine_loop.py",
	},
	{
		ID: "LMD-WRAP-RAY", Kind: engine.Wrapper, Anchor: " - Ray worker exited.",
		Why: whyWorker, Source: "lmdeploy/pytorch/engine/executor/ray_executor.py",
	},
	{
		ID: "LMD-EXIT", Kind: engine.Exit, Anchor: "INFO:     Finished server process [",
		Title: "the server ended in order", Source: srcUvicorn,
	},
	{
		ID: "LMD-STOP", Kind: engine.Stop, Anchor: "INFO:     Shutting down",
		Title: "the server was told to stop", Source: srcUvicorn,
	},
	{
		ID: "LMD-STOP-INT", Kind: engine.Stop, Anchor: "Received KeyboardInterrupt, stopping mp process",
		Title: "interrupted with Ctrl-C", Since: "0.9", Source: "lmdeploy/pytorch/engine/mp_engine/zmq_engine.py",
	},
	{
		ID: "LMD-STOP-SIGNAL", Kind: engine.Stop, Anchor: "MP process received signal ",
		Title: "stopped by a signal", Since: "0.9", Source: "lmdeploy/pytorch/engine/mp_engine/zmq_engine.py",
	},
}
