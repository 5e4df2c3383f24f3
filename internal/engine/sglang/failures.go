package sglang

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// stopLines show an end from outside and the orderly end of the server. They
// come before the failure lines, because a stop prints wrappers of its own.
var stopLines = []engine.Line{
	{
		ID: "SGL-STOP-SIGTERM", Kind: engine.Stop, Anchor: "SIGTERM received. signum=",
		Title: "SIGTERM received", Source: "sglang/srt/managers/tokenizer_manager.py",
	},
	{
		ID: "SGL-STOP-SIGTERM-NODE", Kind: engine.Stop, Anchor: "SIGTERM received on node_rank ",
		Patterns: []string{"SIGTERM received on node_rank <node>;"},
		Title:    "SIGTERM received on a secondary node", Since: "0.5.23", Source: srcEngine,
	},
	{
		ID: "SGL-STOP-SIGTERM-AGAIN", Kind: engine.Stop, Anchor: "Signal SIGTERM received while ",
		Title:  "SIGTERM received while the server was failing or already stopping",
		Source: "sglang/srt/managers/tokenizer_manager.py",
	},
	{
		ID: "SGL-STOP-CHILD", Kind: engine.Stop, Anchor: "crashed with exit code -15.",
		Title:  "a process of the server was ended by SIGTERM",
		Facts:  map[fact.Key]string{fact.Signal: "SIGTERM"},
		Source: "sglang/srt/utils/watchdog.py; printed although the end was asked for",
	},
	{
		ID: "SGL-STOP-TEST", Kind: engine.Stop, Anchor: " test in ",
		Patterns: []string{"Ran <n> test in <seconds>s"},
		Title:    "the test that drove this server ended", Source: "Python unittest, as the engine's own CI uses it",
	},
	{
		ID: "SGL-EXIT-SECONDARY", Kind: engine.Exit, Anchor: "Dummy health check server stopped at ",
		Patterns: []string{"Dummy health check server stopped at <addr>"},
		Title:    "the secondary node ended", Source: "sglang/srt/utils/common.py",
	},
	{
		ID: "SGL-EXIT-DRAINED", Kind: engine.Exit, Anchor: "Gracefully exiting... ",
		Title: "requests drained", Source: "sglang/srt/managers/tokenizer_manager.py",
	},
	{
		ID: "SGL-EXIT-UVICORN", Kind: engine.Exit, Anchor: "INFO:     Shutting down",
		Title: "HTTP server shutting down", Source: "uvicorn",
	},
	{
		ID: "SGL-EXIT-APPLICATION", Kind: engine.Exit, Anchor: "Application shutdown complete.",
		Title: "HTTP server shut down", Source: "uvicorn",
	},
	{
		ID: "SGL-EXIT-PROCESS", Kind: engine.Exit, Anchor: "Finished server process [",
		Title: "HTTP server ended", Source: "uvicorn",
	},
	{
		ID: "SGL-EXIT-TREE", Kind: engine.Exit, Anchor: "kill_process_tree called: parent_pid=",
		Title: "the server ends its own processes", Since: "0.5.15", Source: "sglang/srt/utils/common.py",
	},
}

// failureLines report that a process of the server failed; most of them only
// repeat what an earlier line said.
var failureLines = []engine.Line{
	{
		ID: "SGL-FATAL-PROCESS", Kind: engine.Fatal, Anchor: " hit an exception: ",
		Title:  "a process of the server hit an exception",
		Source: "run_scheduler_process, run_detokenizer_process, TokenizerManager, DataParallelController",
	},
	{
		ID: "SGL-FATAL-MODEL-SERVER", Kind: engine.Fatal, Anchor: "Exception in ModelTpServer:",
		Title: "the model process hit an exception", Source: "sglang/srt/managers/tp_worker.py of 0.2",
	},
	{
		ID: "SGL-FATAL-TP-SERVER", Kind: engine.Fatal, Anchor: "Exception in run_tp_server:",
		Title: "a tensor-parallel process hit an exception", Source: "sglang/srt/managers/tp_worker.py of 0.2",
	},
	{
		ID: "SGL-FATAL-CONTROLLER", Kind: engine.Fatal, Anchor: "Exception in Controller",
		Title: "the controller hit an exception", Source: "sglang/srt/managers/controller_single.py of 0.2",
	},
	{
		ID: "SGL-FATAL-RAY-ACTOR", Kind: engine.Fatal, Anchor: "Scheduler PP",
		Patterns: []string{"Scheduler PP<pp> TP<tp> crashed: <cause>"},
		Title:    "a scheduler actor crashed", Since: "0.5.12", Source: "sglang/srt/ray/scheduler_actor.py",
	},
	{
		ID: "SGL-WRAP-SIGQUIT-CHILD", Kind: engine.Wrapper, Anchor: "Received sigquit from a child proces",
		Why:    "A child process asked its parent to end; what happened to the child stands above.",
		Source: srcEngine,
	},
	{
		ID: "SGL-WRAP-LOAD-BARRIER", Kind: engine.Wrapper, Anchor: "there are other ranks that didn't finish loading",
		Why:    "This rank waited for the others after its own load; the rank that failed says why in its own lines or its node's log.",
		Source: "sglang/srt/model_executor/model_runner.py",
	},
	{
		ID: "SGL-WRAP-SIGQUIT", Kind: engine.Wrapper, Anchor: "SIGQUIT received. signum=",
		Why:   "The main process was told that a child failed; what happened to the child stands above.",
		Since: "0.5.9", Source: "sglang/srt/managers/tokenizer_manager.py",
	},
	{
		ID: "SGL-WRAP-SUBPROCESS", Kind: engine.Wrapper, Anchor: "crashed with exit code ",
		Patterns: []string{"Subprocess <process> (pid=<pid>) crashed with exit code <code>. "},
		Facts:    map[fact.Key]string{fact.ExitCode: "<code>"},
		Why:      "The main process noticed that a child was gone; a negative code is the signal that ended it, and what led to it stands above.",
		Since:    "0.5.12", Source: "sglang/srt/utils/watchdog.py",
	},
	{
		ID: "SGL-WRAP-CHILD-CODE", Kind: engine.Wrapper, Anchor: "Child process unexpectedly failed with an exit code ",
		Patterns: []string{"Child process unexpectedly failed with an exit code <code>. pid="},
		Facts:    map[fact.Key]string{fact.ExitCode: "<code>"},
		Why:      "The main process noticed that a child was gone; codes above 128 are 128 plus the signal that ended it.",
		Source:   srcEngine + " of 0.4",
	},
	{
		ID: "SGL-WRAP-TERMINATED", Kind: engine.Wrapper, Anchor: "Scheduler or DataParallelController ",
		Patterns: []string{"Scheduler or DataParallelController <pid> terminated with <code>"},
		Facts:    map[fact.Key]string{fact.ExitCode: "<code>"},
		Why:      "A secondary node waits for its schedulers; one of them has ended, and a negative code is the signal that ended it.",
		Source:   srcEngine,
	},
	{
		ID: "SGL-WRAP-RANK-DEAD", Kind: engine.Wrapper, Anchor: " scheduler is dead. Please check",
		Patterns: []string{"Rank <rank> scheduler is dead. Please check"},
		Why:      "A scheduler ended before it was ready; what happened to it stands above.",
		Source:   srcEngine + " to 0.5.9",
	},
	{
		ID: "SGL-EXIT-CODE", Kind: engine.Info, Anchor: " Exit code: ",
		Patterns: []string{" Exit code: <code>"},
		Facts:    map[fact.Key]string{fact.ExitCode: "<code>"},
		Source:   srcEngine + " to 0.5.9",
	},
	{
		ID: "SGL-WRAP-INIT", Kind: engine.Wrapper, Anchor: "Initialization failed. ",
		Patterns: []string{
			"Initialization failed. warmup error: <error>",
			"Initialization failed. Please see the error messages above",
			"Initialization failed. <what>_init_state: <state>",
		},
		Why:    "The warm-up request or a child process failed; the reason stands in that process's lines.",
		Source: srcServer + ", " + srcEngine,
	},
	{
		ID: "SGL-WRAP-PD-WARMUP", Kind: engine.Wrapper, Anchor: "Disaggregation warmup failed (mode=",
		Patterns: []string{"Disaggregation warmup failed (mode=<mode>), status code<_>: <status>"},
		Why:      "The warm-up request of a prefill or decode server failed; the reason stands above.",
		Since:    "0.5.15", Source: srcServer,
	},
	{
		ID: "SGL-WRAP-PD-WARMUP-OLD", Kind: engine.Wrapper, Anchor: "disaggregation mode warm Up Failed",
		Patterns: []string{"disaggregation mode warm Up Failed, status code: <status>"},
		Why:      "The warm-up request of a prefill or decode server failed; the reason stands above.",
		Source:   srcServer + " to 0.5.12",
	},
	{
		ID: "SGL-WRAP-CAPTURE", Kind: engine.Wrapper, Anchor: " graph failed: ",
		Patterns: []string{"Capture <what> graph failed: <cause>"},
		Why:      "Graph capture is only where it surfaced: the cause is the text after the colon, and the list of solutions below it is printed for every failure.",
		Source:   "sglang/srt/model_executor/cuda_graph_runner.py, runner",
	},
}

// symptomLines are failures as users see them; the cause stands elsewhere.
var symptomLines = []engine.Line{
	{
		ID: "SGL-SYM-NAN", Kind: engine.Symptom, Anchor: "Detected errors during sampling! NaN in the ",
		Title:  "NaN in the logits",
		Why:    "The sampler found NaN; the arithmetic that made it ran earlier and printed nothing.",
		Source: "sglang/srt/layers/sampler.py to 0.5.12, with --enable-nan-detection",
	},
	{
		ID: "SGL-SYM-NAN-SANITIZED", Kind: engine.Symptom, Anchor: "; values were sanitized before sampling.",
		Patterns: []string{"NaN detected in <what>; values were sanitized before sampling."},
		Title:    "NaN before sampling",
		Why:      "NaN was replaced so that sampling could go on; the line is printed once however often it happens.",
		Since:    "0.5.15", Source: "sglang/srt/utils/async_probe.py",
	},
	{
		ID: "SGL-SYM-SAMPLER-ASSERT", Kind: engine.Symptom, Anchor: "probability tensor contains either ",
		Title:  "inf, NaN or a negative probability in the sampler",
		Why:    "Sampling needs probabilities and got NaN; greedy requests, the warm-up among them, pass over NaN in silence.",
		Source: "torch.multinomial",
	},
	{
		ID: "SGL-SYM-WATCHDOG", Kind: engine.Symptom, Anchor: "self.soft=False)",
		Patterns: []string{"watchdog timeout (self.watchdog_timeout=<seconds>, self.soft=False)"},
		Title:    "watchdog: a process made no progress",
		Why:      "One step took longer than the watchdog allows: a hang, a collective that waits for a dead rank, or a slow compilation.",
		Since:    "0.5.9", Source: "sglang/srt/utils/watchdog.py",
	},
	{
		ID: "SGL-SYM-WATCHDOG-OLD", Kind: engine.Symptom, Anchor: "Watchdog timeout (self.watchdog_timeout=",
		Patterns: []string{"Watchdog timeout (self.watchdog_timeout=<seconds>)"},
		Title:    "watchdog: the scheduler made no progress",
		Why:      "One step took longer than the watchdog allows: a hang, a collective that waits for a dead rank, or a slow compilation.",
		Source:   srcScheduler + " to 0.5.2",
	},
	{
		ID: "SGL-SYM-HEALTH", Kind: engine.Symptom, Anchor: "Health check failed. Server couldn't get a response from detokenizer",
		Patterns: []string{"Health check failed. Server couldn't get a response from detokenizer for last <seconds> seconds."},
		Title:    "health check got no token",
		Why:      "No token came out within the time of the health check: the scheduler is stuck, or it was only prefilling long prompts.",
		Source:   srcServer + ", issue 22511",
	},
	{
		ID: "SGL-SYM-PD-PREFILL-LOST", Kind: engine.Symptom, Anchor: " connection with prefill instance (bootstrap_addr: ",
		Patterns: []string{
			"Lost connection with prefill instance (bootstrap_addr: <addr>), <requests> requests affected",
			"Losing connection with prefill instance (bootstrap_addr: <addr>), <requests> requests affected",
		},
		Title:  "the decode server lost its prefill server",
		Why:    "The prefill server stopped answering; its own log tells why.",
		Source: "sglang/srt/disaggregation/common/conn.py",
	},
	{
		ID: "SGL-SYM-PD-BOOTSTRAP", Kind: engine.Symptom, Anchor: "Some requests timed out when bootstrapping",
		Title:  "KV transfer never began",
		Why:    "The prefill server got no KV indices from the decode server in time: it is overloaded, dead, or cannot reach the bootstrap port.",
		Source: "sglang/srt/disaggregation/common/conn.py",
	},
	{
		ID: "SGL-SYM-PD-TRANSFER", Kind: engine.Symptom, Anchor: "Some requests fail to receive KV Cache transfer done signal",
		Title:  "KV transfer did not end",
		Why:    "The decode server waited in vain for the end of a KV transfer; the prefill server's log tells why.",
		Source: "sglang/srt/disaggregation/common/conn.py",
	},
	{
		ID: "SGL-SYM-PD-REGISTER", Kind: engine.Symptom, Anchor: "Prefill instance failed to ",
		Patterns: []string{
			"Prefill instance failed to register to bootstrap server after <retries> retries",
			"Prefill instance failed to register to bootstrap server: <error>",
			"Prefill instance failed to connect to bootstrap server: <error>",
		},
		Title:  "the prefill server did not reach its bootstrap server",
		Why:    "The bootstrap address is wrong, its port is taken, or a firewall stands between.",
		Source: "sglang/srt/disaggregation/common/conn.py",
	},
}
