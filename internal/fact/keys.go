package fact

// Key names a fact.
type Key string

// Keys in use. Units are part of the meaning.
const (
	EngineName    Key = "engine"                  // sglang, vllm, llamacpp, trtllm, lmdeploy
	EngineVersion Key = "engine.version"          // as printed
	Model         Key = "model"                   // path or repository as given
	Arch          Key = "model.arch"              // architecture class or model_type
	Quant         Key = "model.quant"             // quantisation as the engine names it
	DType         Key = "model.dtype"             //
	CtxLen        Key = "model.context"           // tokens
	GPUName       Key = "gpu.name"                //
	GPUSM         Key = "gpu.sm"                  // "12.0", "9.0", "gfx942"
	GPUCount      Key = "gpu.count"               //
	GPUMem        Key = "gpu.mem_gib"             // total of one GPU
	GPUFree       Key = "gpu.free_gib"            // free at start
	Device        Key = "device"                  // cuda, rocm, cpu, npu, xpu, metal, vulkan
	TP            Key = "parallel.tp"             //
	PP            Key = "parallel.pp"             //
	DP            Key = "parallel.dp"             //
	EP            Key = "parallel.ep"             //
	Nodes         Key = "parallel.nodes"          // number of nodes
	NodeRank      Key = "parallel.node"           // rank of this node, from 0
	MasterAddr    Key = "parallel.master"         // host:port of the rendezvous
	Role          Key = "role"                    // prefill, decode, router, or unified
	WeightsGB     Key = "mem.weights_gb"          // per GPU, as printed
	AvailGB       Key = "mem.avail_gb"            // free GPU memory at that line
	KVTokens      Key = "kv.tokens"               // capacity of the KV cache
	KVGB          Key = "kv.gb"                   // memory of the KV cache
	KVDType       Key = "kv.dtype"                // effective KV cache dtype
	GraphsGB      Key = "mem.graphs_gb"           // memory of the captured graphs
	LoadSeconds   Key = "time.load_s"             //
	CaptureSecs   Key = "time.capture_s"          //
	CompileSecs   Key = "time.compile_s"          //
	InitSecs      Key = "time.init_s"             //
	CUDA          Key = "cuda"                    // toolkit or runtime version
	Driver        Key = "driver"                  // GPU driver version
	Torch         Key = "torch"                   // version
	Transformers  Key = "transformers"            // version
	Mismatch      Key = "join.mismatch"           // a setting on which the nodes of one launch disagree
	MissingNode   Key = "join.missing"            // a node whose log was not given
	Port          Key = "http.port"               //
	Host          Key = "http.host"               //
	MaxRunning    Key = "max_running"             // concurrent requests
	CkptMethod    Key = "checkpoint.quant_method" // quant_method of its quantisation section
	CkptAlgo      Key = "checkpoint.quant_algo"   // modelopt's name of the format: NVFP4, FP8
	CkptDType     Key = "checkpoint.dtype"        // data type that config.json names
	CkptScaleFmt  Key = "checkpoint.scale_fmt"    // "none" when a quantisation section does not say
	ExitCode      Key = "exit.code"               // of a process of the server, as printed
	Signal        Key = "exit.signal"             // name or number
)

// Keys lists all keys.
var Keys = []Key{
	EngineName, EngineVersion, Model, Arch, Quant, DType, CtxLen, GPUName, GPUSM, GPUCount, GPUMem, GPUFree, Device, TP, PP, DP, EP, Nodes, NodeRank, MasterAddr, Role, WeightsGB, AvailGB, KVTokens, KVGB, KVDType, GraphsGB, LoadSeconds, CaptureSecs, CompileSecs, InitSecs, CUDA, Driver, Torch, Transformers, Mismatch, MissingNode, Port, Host, MaxRunning, CkptMethod, CkptAlgo, CkptDType, CkptScaleFmt, ExitCode, Signal,
}
