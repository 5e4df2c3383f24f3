// Package sglang is what is known about the logs of SGLang, from the 0.2
// releases of 2024 to NewestKnown: its server, its prefill/decode roles, its
// multi-node and Ascend, ROCm and CPU variants, and its router.
//
// Terms: a choice is a setting that the server picks or replaces by itself; its
// id is shared by the log lines, the ledger and the resolvers. DSA (DeepSeek
// Sparse Attention) was spelled NSA in lines and settings before 0.5.15. A
// secondary node is a node of a multi-node launch whose rank is not 0: it never
// prints the ready line. PD is prefill/decode disaggregation.
//
// The wording of the lines comes from the sources of ten releases between 0.2.13
// and 0.5.23 and was checked against their logs. A line's Source is a file of the
// engine; Since is the first release known to print the line.
package sglang

import (
	"slices"

	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// Engine describes SGLang. It is immutable.
var Engine = engine.Engine{
	Name:  "sglang",
	Title: "SGLang",
	Lines: slices.Concat(
		startLines,
		memoryLines,
		servingLines,
		routerLines,
		attentionChoices,
		kvChoices,
		moeChoices,
		precisionChoices,
		graphChoices,
		scheduleChoices,
		communicationChoices,
		stopLines,
		failureLines,
		symptomLines,
		noiseLines,
	),
	Signs: []string{
		"server_args=ServerArgs(",
		"The server is fired up and ready to roll!",
		"sglang.launch_server",
		"sglang serve",
		"sglang/srt/",
		"sglang.srt.",
		"Load weight begin. avail mem=",
		"max_total_num_tokens=",
		"#running-req: ",
		"sglang_router",
		"smg::server",
	},
	Frames: []string{
		"site-packages/sglang/",
		"dist-packages/sglang/",
		"python/sglang/",
		"/sglang/srt/",
	},
	Milestones: []string{
		routerStarted + "?",
		distBegun + "?",
		distReady + "?",
		loadBegun,
		loadEnded,
		kvAllocated + "?",
		poolReady + "?",
		captureBegun + "?",
		captureEnded + "?",
		schedulerReady + "?",
		secondaryReady + "?",
		httpUp,
		pdWarmup + "?",
		ready,
	},
	UpHeadless:  secondaryReady,
	NewestKnown: "0.5.23",
	Facts: map[string]fact.Key{
		"model_path":          fact.Model,
		"quantization":        fact.Quant,
		"dtype":               fact.DType,
		"context_length":      fact.CtxLen,
		"device":              fact.Device,
		"tp_size":             fact.TP,
		"pp_size":             fact.PP,
		"dp_size":             fact.DP,
		"ep_size":             fact.EP,
		"nnodes":              fact.Nodes,
		"node_rank":           fact.NodeRank,
		"dist_init_addr":      fact.MasterAddr,
		"nccl_init_addr":      fact.MasterAddr, // the name of 2024
		"disaggregation_mode": fact.Role,
		"host":                fact.Host,
		"port":                fact.Port,
	},
	Hidden:    hidden,
	ParseDump: parseDump,
}

// Names of the milestones, as users see them.
const (
	routerStarted  = "router started"
	distBegun      = "distributed start-up begun"
	distReady      = "distributed start-up done"
	loadBegun      = "loading weights"
	loadEnded      = "weights loaded"
	kvAllocated    = "KV cache allocated"
	poolReady      = "memory pools ready"
	captureBegun   = "capturing graphs"
	captureEnded   = "graphs captured"
	schedulerReady = "scheduler ready"
	secondaryReady = "secondary node ready"
	httpUp         = "HTTP server up"
	pdWarmup       = "PD warm-up"
	ready          = "ready"
)

// hidden are settings that say nothing about how a model is served: names,
// addresses, seeds, logging, metrics and developer switches.
var hidden = []string{
	"admin_api_key", "api_key", "base_gpu_id", "bucket_e2e_request_latency",
	"bucket_inter_token_latency", "bucket_time_to_first_token", "collect_tokens_histogram",
	"constrained_json_disable_any_whitespace", "constrained_json_whitespace_pattern",
	"crash_dump_folder", "custom_sigquit_handler", "decode_log_interval", "decrypted_config_file",
	"decrypted_draft_config_file", "detokenizer_worker_num", "disaggregation_bootstrap_port",
	"dist_init_addr", "download_dir", "enable_cache_report", "enable_forward_pass_metrics",
	"enable_metrics", "enable_metrics_for_all_schedulers", "enable_mfu_metrics",
	"enable_request_time_stats_logging", "enable_ssl_refresh", "enable_trace",
	"encoder_bootstrap_port", "engine_info_bootstrap_port", "export_metrics_to_file",
	"export_metrics_to_file_dir", "extra_metric_labels", "fastapi_root_path", "file_storage_path",
	"forward_pass_metrics_ipc_name", "forward_pass_metrics_worker_id", "gated_launch_port",
	"gc_threshold", "gc_warning_threshold_secs", "generation_tokens_buckets", "gpu_id_step",
	"grpc_mode", "grpc_port", "grpc_response_timeout_secs", "host", "kv_events_config",
	"load_snapshot_publish_interval", "log_level", "log_level_http", "log_requests",
	"log_requests_format", "log_requests_level", "log_requests_target", "metrics_http_port",
	"nccl_port", "node_rank", "otlp_service_name", "otlp_traces_endpoint", "port",
	"prompt_tokens_buckets", "random_seed", "revision", "served_model_name", "show_time_cost",
	"sleep_on_idle", "smg_http_sidecar_port", "spec_trace_dir", "ssl_ca_certs", "ssl_certfile",
	"ssl_keyfile", "ssl_keyfile_password", "stat_loggers", "stream_interval", "stream_output",
	"tokenizer_metrics_allowed_custom_labels", "tokenizer_metrics_custom_labels_header",
	"tokenizer_path", "tokenizer_worker_num", "trace_modules",
	"uvicorn_access_log_exclude_prefixes", "warmups", "watermark_key", "watermark_key_b",
	"weight_version",
}

// The values of engine.Set.By that this package uses.
const (
	byModel       = "model"
	byCheckpoint  = "checkpoint"
	byHardware    = "hardware"
	byCoupling    = "coupling"
	byEnvironment = "environment"
	byDefault     = "default"
	byUnknown     = "unknown"
)

// sets is the entry that a choice with one setting makes in the ledger.
func sets(setting, value, by string, from ...string) []engine.Set {
	return []engine.Set{{Setting: setting, Value: value, By: by, From: from}}
}

// Sources of lines that share a file. The resolver moved from server_args.py to
// arg_groups in 0.5.15.
const (
	srcArgs      = "sglang/srt/server_args.py, arg_groups/overrides.py"
	srcRunner    = "sglang/srt/model_executor/model_runner.py"
	srcScheduler = "sglang/srt/managers/scheduler.py"
	srcServer    = "sglang/srt/entrypoints/http_server.py"
	srcEngine    = "sglang/srt/entrypoints/engine.py"
	srcRouter    = "sgl-router/src/server.rs"
)
