package vllm

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// fatal makes a line at which a process of the server fails.
func fatal(id, anchor, title, source string, forms ...string) engine.Line {
	return engine.Line{ID: id, Kind: engine.Fatal, Anchor: anchor, Patterns: forms, Title: title, Source: source}
}

// wrapper makes a line that reports a failure from elsewhere.
func wrapper(id, anchor, why, source string, forms ...string) engine.Line {
	return engine.Line{ID: id, Kind: engine.Wrapper, Anchor: anchor, Patterns: forms, Why: why, Source: source}
}

// symptom makes a line that shows a failure and not its cause.
func symptom(id, anchor, title, why, source string, forms ...string) engine.Line {
	return engine.Line{ID: id, Kind: engine.Symptom, Anchor: anchor, Patterns: forms, Title: title, Why: why, Source: source}
}

// exitFacts states the exit code that a line names.
var exitFacts = map[fact.Key]string{fact.ExitCode: "<code>"}

// failureLines report that a process fails, where it fails and who noticed.
var failureLines = []engine.Line{
	fatal("VLLM-CORE-START", "EngineCore failed to start.", "the engine core failed while it started", "vllm/v1/engine/core.py"),
	fatal("VLLM-CORE-FATAL", "EngineCore encountered a fatal error.", "the engine core failed while it ran", "vllm/v1/engine/core.py"),
	fatal("VLLM-CORE-EXCEPTION", "EngineCore hit an exception: ", "the engine core failed", "vllm/v1/engine/core.py"),
	fatal("VLLM-WORKER-START", "WorkerProc failed to start.", "a worker failed while it started", "vllm/v1/executor/multiproc_executor.py"),
	fatal("VLLM-WORKER-EXCEPTION", "WorkerProc hit an exception.", "a worker failed while it ran", "vllm/v1/executor/multiproc_executor.py"),
	fatal("VLLM-WORKER-EXCEPTION-OLD", "WorkerProc hit an exception: ", "a worker failed", "vllm/v1/executor/multiproc_executor.py"),
	fatal("VLLM-WORKER-FAILED", "WorkerProc failed.", "a worker failed", "vllm/v1/executor/multiproc_executor.py"),
	fatal("VLLM-WORKER-METHOD", "This might cause deadlock in distributed execution.", "a worker failed in one step", "vllm/worker/worker_base.py",
		"Error executing method <method>. This might cause deadlock"),
	fatal("VLLM-WORKER-METHOD-V0", " while processing method ", "a worker failed in one step", "vllm/executor/multiproc_worker_utils.py",
		"Exception in worker <worker> while processing method <method>"),
	fatal("VLLM-RAY-WORKER", "RayWorkerProc failed: ", "a Ray worker failed", "vllm/v1/executor/ray_executor.py"),
	fatal("VLLM-ENGINE-TIMEOUT-V0", "Engine iteration timed out. This should never happen!", "one engine step never ended", "vllm/engine/async_llm_engine.py"),

	wrapper("VLLM-CORE-INIT", "Engine core initialization failed. See root cause above.",
		"The API server only notes that the engine core ended; the reason stands above in the engine core's or a worker's lines.", "vllm/v1/engine/utils.py"),
	wrapper("VLLM-FRONTEND-INIT", "Frontend process failed during engine core initialization",
		"One front end process ended while the engine core was starting; its own lines say why.", "vllm/v1/engine/utils.py"),
	wrapper("VLLM-CORE-DEAD", "EngineCore encountered an issue. See stack trace (above) for the root cause.",
		"EngineDeadError: the engine core has ended before; every request that waits for it fails with this line.", "vllm/v1/engine/exceptions.py"),
	wrapper("VLLM-CORE-EXITED", "engine core exited unexpectedly; starting cleanup",
		"The API server noticed that the engine core is gone. Without an exception above, it was killed from outside.", "vllm/v1/engine/core_client.py"),
	wrapper("VLLM-CORE-DIED", "died unexpectedly, shutting down client.",
		"The API server noticed that the engine core is gone. Without an exception above, it was killed from outside.", "vllm/v1/engine/core_client.py",
		"Engine core proc <process> died unexpectedly"),
	wrapper("VLLM-CORE-SECOND", "Process EngineCore",
		"Python prints the exception that ended this process a second time.", "multiprocessing",
		"Process EngineCore<process>:"),
	wrapper("VLLM-SPAWN-SECOND", "Process SpawnProcess-",
		"Python prints the exception that ended this process a second time.", "multiprocessing"),
	wrapper("VLLM-OUTPUT-HANDLER", "AsyncLLM output_handler failed.",
		"The API server's reader stops because the engine core has ended, also at an ordinary stop.", "vllm/v1/engine/async_llm.py"),
	wrapper("VLLM-OUTPUT-HANDLER-OLD", "EngineCore output handler hit an error: ",
		"The API server's reader stops because the engine core has ended.", "vllm/v1/engine/async_llm.py"),
	{ID: "VLLM-WORKER-DIED", Kind: engine.Wrapper, Anchor: " died unexpectedly, shutting down executor.",
		Patterns: []string{" died unexpectedly, shutting down executor."},
		Why:      "A worker is gone. Its own lines above say why; a worker without last words was killed from outside, often by the system when memory ran out.", Source: "vllm/v1/executor/multiproc_executor.py"},
	{ID: "VLLM-WORKER-DIED-CODE", Kind: engine.Wrapper, Anchor: "), shutting down executor.",
		Patterns: []string{" died unexpectedly (exit code: <code>), shutting down executor."}, Facts: exitFacts,
		Why: "A worker is gone. Its own lines above say why; a worker without last words was killed from outside, often by the system when memory ran out.", Source: "vllm/v1/executor/multiproc_executor.py"},
	{ID: "VLLM-WORKER-DIED-V0", Kind: engine.Wrapper, Anchor: " died, exit code: ",
		Patterns: []string{"Worker <worker> pid <pid> died, exit code: <code>"}, Facts: exitFacts,
		Why: "A worker is gone. Its own lines above say why; exit code -9 means that it was killed from outside.", Source: "vllm/executor/multiproc_worker_utils.py"},
	wrapper("VLLM-WORKER-INIT", "WorkerProc initialization failed due to an exception in a background process",
		"The engine core only notes that a worker failed; the worker's own lines above say why.", "vllm/v1/executor/multiproc_executor.py"),
	wrapper("VLLM-WORKER-ERROR", "please check the stack trace above for the root cause",
		"The engine core repeats the text of a worker's exception; the worker's own lines above have the whole of it.", "vllm/v1/executor/multiproc_executor.py",
		"Worker failed with error '<error>', please check"),
	wrapper("VLLM-CALL-FAILED", " method failed: ",
		"The API server repeats what a call into the engine core answered.", "vllm/v1/engine/core_client.py",
		"Call to <method> method failed: <error>"),
	wrapper("VLLM-FATAL-SIGNAL", "Got fatal signal from worker processes, shutting down.",
		"A worker or the engine core told its parent that it failed; its own lines say why, when it could print any.", "vllm/v1/engine/core_client.py"),
	wrapper("VLLM-ENGINE-START-V0", "Engine process failed to start. See stack trace for the root cause.",
		"The API server only notes that the engine process ended; the reason stands above, when it was printed at all.", "vllm/entrypoints/openai/api_server.py"),
	wrapper("VLLM-BACKGROUND-V0", "Engine background task failed",
		"The V0 engine's loop ended with the exception that stands beside this line.", "vllm/engine/async_llm_engine.py"),
	wrapper("VLLM-BACKGROUND-ERRORED-V0", "Background loop has errored already",
		"AsyncEngineDeadError: the V0 engine's loop ended before; every later request fails with this line.", "vllm/engine/async_llm_engine.py"),
	wrapper("VLLM-BACKGROUND-STOPPED-V0", "Background loop is stopped",
		"AsyncEngineDeadError: the V0 engine's loop ended before.", "vllm/engine/async_llm_engine.py"),
	wrapper("VLLM-TASK-V0", "Task finished unexpectedly. This should never happen!",
		"The V0 engine's loop ended; the exception above is the reason.", "vllm/engine/async_llm_engine.py"),
	wrapper("VLLM-LOOP-V0", "Engine loop is not running. Inspect the stacktrace",
		"MQEngineDeadError: the engine process ended before; every later request fails with this line.", "vllm/engine/multiprocessing/__init__.py"),
	wrapper("VLLM-RAY-DIED", "RayWorkerProc rank=",
		"A Ray worker is gone; its own lines say why.", "vllm/v1/executor/ray_executor.py",
		"RayWorkerProc rank=<rank> died unexpectedly"),
	wrapper("VLLM-REQUEST-DEAD", " failed (engine dead).",
		"A request ends because the engine core has ended before.", "vllm/v1/engine/async_llm.py"),
	wrapper("VLLM-DP-EXITED", " exited DP Servers.",
		"The supervisor noticed that a data-parallel server is gone.", "vllm/entrypoints/launchers/"),

	symptom("VLLM-HTTP-500", " HTTP/1.1\" 500 Internal Server Error", "a request failed inside the server",
		"The front end answers 500 for whatever went wrong behind it.", "uvicorn"),
	symptom("VLLM-ASGI", "Exception in ASGI application", "a request failed inside the server",
		"The traceback shows where the front end noticed the failure.", "uvicorn"),
	symptom("VLLM-CALL", "Invocation of ", "a call into the engine core failed",
		"The exception beside this line belongs to the called method.", "vllm/v1/engine/core.py",
		"Invocation of <method> method failed"),
	symptom("VLLM-RPC-TIMEOUT", "RPC call to ", "a worker did not answer in time",
		"The call names the step that waited, not what the worker was stuck in.", "vllm/v1/executor/multiproc_executor.py",
		"RPC call to <method> timed out."),
	symptom("VLLM-PROBABILITIES", "probability tensor contains either", "inf, NaN or negative probabilities in the sampler",
		"The sampler is the first that checks the numbers; they went wrong in an earlier layer.", "torch"),
}

// stop makes a line of an interruption from outside.
func stop(id, anchor, title, source string, forms ...string) engine.Line {
	return engine.Line{ID: id, Kind: engine.Stop, Anchor: anchor, Patterns: forms, Title: title, Source: source}
}

// exit makes a line of a process that ends.
func exit(id, anchor, title, source string) engine.Line {
	return engine.Line{ID: id, Kind: engine.Exit, Anchor: anchor, Title: title, Source: source}
}

// endLines are interruptions from outside and ends of processes.
var endLines = []engine.Line{
	{ID: "VLLM-STOP-CORE", Kind: engine.Stop, Anchor: "[shutdown] EngineCore: trigger received signal=",
		Patterns: []string{"trigger received signal=<signal>"}, Facts: map[fact.Key]string{fact.Signal: "<signal>"},
		Title: "the engine core got a signal", Source: "vllm/v1/engine/core.py"},
	stop("VLLM-STOP-API", "[shutdown] API server: shutdown triggered", "the API server got a signal", "vllm/entrypoints/launchers/launcher.py"),
	stop("VLLM-STOP-INTERRUPT", "KeyboardInterrupt", "interrupted from outside (Ctrl-C, or SIGTERM during the start)", "vllm/v1/engine/core.py"),
	stop("VLLM-STOP-CORE-OLD", "Shutdown initiated (timeout=", "the engine core was asked to stop", "vllm/v1/engine/core.py"),
	stop("VLLM-STOP-GRPC", "Received shutdown signal", "the gRPC server got a signal", "vllm/entrypoints/grpc_server.py"),
	stop("VLLM-STOP-GRPC-USER", "Interrupted by user", "interrupted from outside (Ctrl-C)", "vllm/entrypoints/grpc_server.py"),
	stop("VLLM-STOP-SUPERVISOR", "DPSupervisor received ", "the supervisor got a signal", "vllm/entrypoints/launchers/",
		"DPSupervisor received <signal>, shutting down."),

	exit("VLLM-EXIT-HTTP", "Application shutdown complete.", "the HTTP server ended", "uvicorn"),
	exit("VLLM-EXIT-PROCESS", "Finished server process [", "the HTTP server's process ended", "uvicorn"),
	exit("VLLM-EXIT-FASTAPI", "Shutting down FastAPI HTTP server", "the HTTP server ends", "vllm/entrypoints/launcher.py"),
	exit("VLLM-EXIT-CORE", "[shutdown] EngineCore: exiting busy loop", "the engine core ended in order", "vllm/v1/engine/core.py"),
	exit("VLLM-EXIT-CORE-OLD", "DPEngineCoreProc ", "the engine core ended in order", "vllm/v1/engine/core.py"),
	exit("VLLM-EXIT-COORDINATOR", "DP Coordinator process exiting", "the coordinator of the data-parallel ranks ended", "vllm/v1/engine/coordinator.py"),
	exit("VLLM-EXIT-KILL-V0", "Killing local vLLM worker processes", "the V0 executor ends its workers", "vllm/executor/multiproc_worker_utils.py"),
	exit("VLLM-EXIT-TERMINATE-V0", "Terminating local vLLM worker processes", "the V0 executor ends its workers", "vllm/executor/multiproc_worker_utils.py"),
	exit("VLLM-EXIT-GRACEFUL-V0", "Engine is gracefully shutting down.", "the V0 engine ended in order", "vllm/engine/async_llm_engine.py"),
}
