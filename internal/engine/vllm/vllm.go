// Package vllm is what is known about vLLM's logs: from the 0.2 releases over
// the V0 and V1 engines to 0.32, with the ROCm, CPU, XPU and Ascend platforms,
// Ray, data-parallel and headless nodes, and KV transfer between prefill and
// decode servers.
//
// Terms: the engine core is the process that schedules and, through its
// workers, runs the model; the API server is the front end that users talk to.
// A flat name is a command line argument's name (kv_cache_dtype); a setting
// name is the section and field of vLLM's own configuration object
// (cache.cache_dtype). The wording of lines was read from the logging calls of
// the releases 0.2.7, 0.4.2, 0.6.3, 0.7.3, 0.8.5, 0.11.0, 0.14.0, 0.20.0,
// 0.25.1 and 0.32.0; Line.Source names the file of the engine that prints it.
package vllm

import (
	"slices"

	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// Names of milestones, as users see them.
const (
	mileArchitecture = "architecture resolved"
	mileGroups       = "process groups formed"
	mileLoading      = "loading weights"
	mileWeightsRead  = "weights read"
	mileLoaded       = "model loaded"
	mileCompiled     = "model compiled"
	mileProfiled     = "memory profiled"
	mileKVSized      = "KV cache sized"
	mileTransfer     = "KV transfer registered"
	mileCapturing    = "capturing graphs"
	mileCaptured     = "graphs captured"
	mileInitialised  = "engine initialised"
	mileCoordinator  = "waiting for the coordinator"
	mileHTTP         = "HTTP server starting"
	mileReady        = "ready"
)

// Engine is vLLM.
var Engine = engine.Engine{
	Name:  "vllm",
	Title: "vLLM",
	Lines: slices.Concat(startLines, memoryLines, servingLines,
		attentionChoices, cacheChoices, moeChoices, schedulerChoices, graphChoices, modelChoices, platformChoices,
		failureLines, endLines, noiseLines),
	Signs: []string{
		"(EngineCore", "(APIServer pid=", "(ApiServer_", "(VllmWorker", "Initializing a V1 LLM engine", "vLLM API server version",
		"Initializing an LLM engine", "EngineCore failed to start", "Engine core initialization failed", "WorkerProc failed to start",
		"vllm/v1/engine/core.py", "vllm.entrypoints", "(RayWorkerWrapper", "Avg prompt throughput: ",
		"site-packages/vllm/", "dist-packages/vllm/",
	},
	Frames: []string{"site-packages/vllm/", "dist-packages/vllm/", "/vllm/v1/", "/vllm/model_executor/", "/vllm/entrypoints/", "/vllm/engine/", "/vllm_ascend/"},
	Milestones: []string{
		mileArchitecture + "?", mileGroups + "?", mileLoading, mileWeightsRead + "?", mileLoaded, mileCompiled + "?",
		mileProfiled + "?", mileKVSized, mileTransfer + "?", mileCapturing + "?", mileCaptured + "?", mileInitialised,
		mileCoordinator + "?", mileHTTP + "?", mileReady,
	},
	AnswersMeanReady: true,
	UpHeadless:       mileCoordinator, UpOffline: mileInitialised,
	NewestKnown: "0.32.0",
	Facts: map[string]fact.Key{
		versionSetting:                    fact.EngineVersion,
		"model.model":                     fact.Model,
		"model.dtype":                     fact.DType,
		"model.quantization":              fact.Quant,
		"model.max_model_len":             fact.CtxLen,
		"cache.cache_dtype":               fact.KVDType,
		"device.device":                   fact.Device,
		"parallel.tensor_parallel_size":   fact.TP,
		"parallel.pipeline_parallel_size": fact.PP,
		"parallel.data_parallel_size":     fact.DP,
		"parallel.nnodes":                 fact.Nodes,
		"parallel.node_rank":              fact.NodeRank,
		"scheduler.max_num_seqs":          fact.MaxRunning,
		"host":                            fact.Host,
		"port":                            fact.Port,
	},
	Names:     settingNames,
	Hidden:    hiddenSettings,
	ParseDump: parseDump,
}

// hiddenSettings are names, places and logging switches: they say where a
// server runs and not how.
var hiddenSettings = []string{
	versionSetting,
	"host", "port", "api_key", "model_tag", "config", "subparser", "headless", "uds",
	"chat_template", "allowed_origins", "allowed_methods", "allowed_headers", "allow_credentials", "root_path", "middleware",
	"ssl_keyfile", "ssl_certfile", "ssl_ca_certs", "ssl_cert_reqs", "enable_ssl_refresh", "lora_modules", "prompt_adapters",
	"uvicorn_log_level", "disable_uvicorn_access_log", "disable_log_requests", "enable_log_requests", "disable_log_stats",
	"max_log_len", "disable_fastapi_docs", "log_config_file", "dispatch_function", "enable_server_load_tracking",
	"model.model", "model.served_model_name", "model.tokenizer", "model.revision", "model.code_revision", "model.tokenizer_revision",
	"model.hf_token", "model.seed", "model.allowed_local_media_path", "model.allowed_media_domains",
	"load.download_dir", "load.use_tqdm_on_load", "parallel.master_addr", "parallel.master_port",
	"data_parallel_address", "data_parallel_rpc_port",
	"observability.otlp_traces_endpoint", "observability.collect_detailed_traces", "observability.show_hidden_metrics_for_version",
	"compilation.debug_dump_path", "compilation.cache_dir", "compilation.local_cache_dir", "compilation.static_all_moe_layers",
	"compilation.splitting_ops", "compilation.cudagraph_capture_sizes",
}
