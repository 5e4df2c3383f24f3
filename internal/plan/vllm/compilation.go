package vllm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// compileModes are the names of CompilationMode by number.
var compileModes = []string{"NONE", "STOCK_TORCH_COMPILE", "DYNAMO_TRACE_ONCE", "VLLM_COMPILE"}

// compileMode is a mode given by number or name; ok is false for another
// value.
func compileMode(v any) (name string, ok bool) {
	switch v := v.(type) {
	case int:
		if v >= 0 && v < len(compileModes) {
			return compileModes[v], true
		}
	case string:
		if up := strings.ToUpper(v); slices.Contains(compileModes, up) {
			return up, true
		}
	}
	return "", false
}

// hasFull, hasPiecewise and onlyPieces tell what a CUDA graph mode captures.
func hasFull(mode string) bool      { return strings.HasPrefix(mode, "FULL") }
func hasPiecewise(mode string) bool { return strings.HasSuffix(mode, "PIECEWISE") }

// compilationConfig reads what was asked of compilation and CUDA graphs.
func (s *state) compilationConfig() error {
	s.because("", byCoupling, "--compilation-config.", "compilation_config")
	ops := []any{}
	if list, ok := s.cc["custom_ops"].([]any); ok {
		ops = slices.Clone(list)
	}
	s.Set("compilation.custom_ops", ops)
	if v, given := s.cc["mode"]; given && v != nil {
		name, ok := compileMode(v)
		if !ok {
			return invalid("CompilationConfig", "Invalid compilation mode: %v. Valid modes are: %s", v, strings.Join(compileModes, ", "))
		}
		s.Set("compilation.mode", name)
	}
	if level, given := s.cc["level"]; given && level != nil && s.Known("compilation.level") {
		s.Set("compilation.level", level)
		s.warn("Level is deprecated and will be removed in the next release,either 0.12.0 or 0.11.2 whichever is soonest.Use mode instead.If both level and mode are given,only mode will be used.")
		if s.Nil("compilation.mode") {
			s.Set("compilation.mode", level) // stays a number
		}
	}
	if v, ok := s.cc["cudagraph_mode"].(string); ok {
		s.Set("compilation.cudagraph_mode", strings.ToUpper(v))
	}
	for _, key := range []string{"max_cudagraph_capture_size", "cudagraph_capture_sizes"} {
		v := s.cc[key]
		if asked := s.args.Get(key); asked != nil && s.args.Known(key) {
			if v != nil {
				return refuse("ValueError", "%s and compilation_config.%s are mutually exclusive", key, key)
			}
			v = asked
		}
		if list, ok := v.([]any); ok {
			v = wholeNumbers(list)
		}
		if v != nil {
			s.Set("compilation."+key, v)
		}
	}
	if s.r == v0112 {
		s.Set("compilation.use_inductor_graph_partition", false)
	}
	for _, key := range []string{"backend", "use_inductor_graph_partition", "cudagraph_specialize_lora", "compile_mm_encoder", "cudagraph_mm_encoder", "compile_sizes", "use_inductor"} {
		if v := s.cc[key]; v != nil && v != "" && s.Known("compilation."+key) {
			s.Set("compilation."+key, v)
		}
	}
	return s.passConfig()
}

func wholeNumbers(list []any) []int {
	out := make([]int, 0, len(list))
	for _, v := range list {
		if n, ok := v.(int); ok {
			out = append(out, n)
		}
	}
	return out
}

// passConfig reads what was asked of the fusion passes.
func (s *state) passConfig() error {
	p, _ := s.cc["pass_config"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if name := "pass." + key; s.Known(name) && p[key] != nil {
			s.Set(name, p[key])
		}
	}
	if s.Known("pass.eliminate_noops") && s.Nil("pass.eliminate_noops") && s.r >= v0191 {
		s.Set("pass.eliminate_noops", true)
	}
	if s.Bool("pass.eliminate_noops") || s.r < v0160 {
		return nil
	}
	for _, f := range []struct{ field, what string }{
		{"pass.fuse_norm_quant", "RMSNorm/SiluMul + quant (fp8)"},
		{"pass.fuse_act_quant", "RMSNorm/SiluMul + quant (fp8)"},
		{"pass.fuse_attn_quant", "Attention + quant (fp8)"},
		{"pass.fuse_allreduce_rms", "Allreduce + rms norm + quant (fp8)"},
	} {
		if s.Bool(f.field) {
			s.once('W', "Fusion enabled but reshape elimination disabled. %s fusion might not work", f.what)
		}
	}
	return nil
}

// customOps are the names in compilation.custom_ops.
func (s *state) customOps() []any { v, _ := s.Get("compilation.custom_ops").([]any); return v }

func (s *state) addCustomOp(name string) {
	s.Set("compilation.custom_ops", append(slices.Clone(s.customOps()), name))
}

// customOp says whether a custom kernel replaces what the compiler would make
// (CompilationConfig.is_custom_op_enabled).
func (s *state) customOp(name string) bool {
	ops := s.customOps()
	if slices.Contains(ops, any("all")) {
		return !slices.Contains(ops, any("-"+name))
	}
	return slices.Contains(ops, any("+"+name))
}

// blockedOp keeps the quantisation kernel for weights with block scales.
func (s *state) blockedOp() error {
	if !s.blockedWeights() || slices.Contains(s.customOps(), any("-quant_fp8")) {
		return nil
	}
	s.because("", byCheckpoint, "Weights with block scales: the FP8 quantisation kernel is faster than compiled code.")
	s.addCustomOp("+quant_fp8")
	return nil
}

// eager turns compilation and CUDA graphs off.
func (s *state) eager() error {
	if !s.Bool("model.enforce_eager") {
		return nil
	}
	s.because("VLLM-GRAPH-EAGER", byCoupling, "--enforce-eager.", "model.enforce_eager")
	if s.r == v0112 {
		if s.Nil("compilation.mode") {
			s.Set("compilation.mode", "NONE")
		}
		return nil
	}
	if s.r == v0160 {
		if !s.Is("optimization_level", "O0") {
			s.Set("optimization_level", "O0")
			s.warn("Enforce eager set, overriding optimization level to -O0")
		}
		return nil
	}
	s.Set("compilation.mode", "NONE")
	s.Set("compilation.cudagraph_mode", "NONE")
	switch {
	case s.r >= v0320:
		s.warn("Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none and --kernel_config.enable_jit_warmup=False")
	default:
		s.warn("Enforce eager set, disabling torch.compile and CUDAGraphs. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none")
	}
	return nil
}

// compilerSwitch obeys PyTorch's own switch.
func (s *state) compilerSwitch() error {
	if v, _ := s.Env("TORCH_COMPILE_DISABLE"); v == "1" {
		s.because("", byEnvironment, "TORCH_COMPILE_DISABLE.")
		s.Set("compilation.mode", "NONE")
		s.warn("TORCH_COMPILE_DISABLE is set, disabling torch.compile. This is equivalent to setting -cc.mode=none")
	}
	return nil
}

// breakableModels are the architectures without support for torch.compile,
// whose CUDA graphs are broken at attention instead.
var breakableModels = map[release][]string{
	v0240: names("DeepseekV4ForCausalLM DeepSeekV4MTPModel MiniMaxM3SparseForCausalLM MiniMaxM3SparseForConditionalGeneration"),
	v0320: names(`DeepseekV32MTPModel DeepseekV32ForCausalLM DeepseekV4ForCausalLM DeepseekV4ForConditionalGeneration DeepSeekV4MTPModel
		DeepseekV41ForCausalLM Dots3NoteForCausalLM Dots3NoteMTPModel Glm5NextForCausalLM Glm5NextForConditionalGeneration Glm5NextMTPModel
		GlmMoeDsaForCausalLM HYV4ForCausalLM HYV4MTPModel InklingForCausalLM InklingForConditionalGeneration KimiK3ForConditionalGeneration
		KimiK3MTPModel KimiLinearForCausalLM MiniMaxM3SparseForCausalLM MiniMaxM3SparseForConditionalGeneration Qwen4ExpForCausalLM
		Qwen4ExpForConditionalGeneration Qwen4ExpMTP`),
}

// breakable sets VLLM_USE_BREAKABLE_CUDAGRAPH for models that need it.
func (s *state) breakable() error {
	const variable = "VLLM_USE_BREAKABLE_CUDAGRAPH"
	if _, set := s.Env(variable); !set && slices.ContainsFunc(s.model.architectures, func(a string) bool { return slices.Contains(breakableModels[s.r], a) }) {
		s.SetEnv(variable, "1")
		s.because("", byModel, s.model.name+" does not support torch.compile; its CUDA graphs are broken at attention.")
		s.Set("compilation.mode", "NONE")
		s.info("Auto-enabling VLLM_USE_BREAKABLE_CUDAGRAPH=1. Set VLLM_USE_BREAKABLE_CUDAGRAPH=0 to opt out.")
	}
	if _, set := s.Env(variable); !set && s.r >= v0320 && s.tunedProducts() {
		s.SetEnv(variable, "1")
		s.because("", byEnvironment, "VLLM_BATCH_INVARIANT with products that have tuned kernels.")
		s.Set("compilation.mode", "NONE")
		s.info("VLLM_BATCH_INVARIANT=1: auto-enabling VLLM_USE_BREAKABLE_CUDAGRAPH=1. Set VLLM_USE_BREAKABLE_CUDAGRAPH=0 to opt out.")
	}
	if s.envBool(variable, false) {
		s.because("", byEnvironment, variable+" replaces torch.compile.")
		s.Set("compilation.mode", "NONE")
		if s.r == v0240 {
			s.warn("VLLM_USE_BREAKABLE_CUDAGRAPH is set, disabling vLLM's torch.compile pipeline. Equivalent to -cc.mode=none.")
		}
	}
	return nil
}

// tunedShapes are the products (rows, columns) of a linear layer whose
// batch-invariant kernel is tuned, on every known GPU and on compute capability
// 12.x (vllm/model_executor/determinism/batch_invariant_configs.py, 0.32.0).
var (
	tunedShapes     = shapes("12288x2048 2048x6144 4096x2048 151936x2048 2048x2048")
	tunedShapesSM12 = shapes(`19456x2560 2560x9728 6144x2560 151936x2560 2560x4096 24576x4096 4096x12288 6144x4096 151936x4096 4096x4096 6144x2048
		2048x3072 2048x1024 75968x2048 3072x2048 2048x1536 1024x2048 2048x512 37984x2048 1536x2048 2048x768 512x2048 2048x256 18992x2048 9728x2560
		2560x4864 3072x2560 2560x2048 75968x2560 4864x2560 2560x2432 1536x2560 2560x1024 37984x2560 2432x2560 2560x1216 768x2560 2560x512
		18992x2560 12288x4096 4096x6144 3072x4096 75968x4096 4096x3072 1536x4096 4096x1024 37984x4096 4096x1536 768x4096 4096x512 18992x4096`)
)

func shapes(list string) map[[2]int]bool {
	out := map[[2]int]bool{}
	for _, text := range names(list) {
		var s [2]int
		if _, err := fmt.Sscanf(text, "%dx%d", &s[0], &s[1]); err != nil {
			panic("vllm: shape " + text) // data of this package
		}
		out[s] = true
	}
	return out
}

// tunedProducts says whether a batch-invariant launch has products that tuned
// kernels compute (_uses_breakable_cudagraph_for_batch_invariance).
func (s *state) tunedProducts() bool {
	m := s.model
	if !s.envBool("VLLM_BATCH_INVARIANT", false) || s.Bool("model.enforce_eager") || s.quant != nil || !s.Is("model.dtype", "torch.bfloat16") {
		return false
	}
	if c := s.gpu.capability(); s.gpu.major != 12 && s.gpu.major != 10 && s.gpu.major != 9 && c != 89 {
		return false
	}
	tp := max(1, s.Int("parallel.tensor_parallel_size"))
	heads, kv := m.heads/tp, max(1, m.kvHeads/tp)
	if s.Bool("model.use_mla") {
		kv = 1
	}
	products := [][2]int{{(heads + 2*kv) * m.headSize, m.hidden}, {m.hidden, heads * m.headSize}}
	if n, ok := m.text.Int("intermediate_size"); ok {
		products = append(products, [2]int{2 * n / tp, m.hidden}, [2]int{m.hidden, n / tp})
	}
	return slices.ContainsFunc(products, func(p [2]int) bool { return tunedShapes[p] || s.gpu.major == 12 && tunedShapesSM12[p] })
}

// breaks says whether CUDA graphs are broken at attention.
func (s *state) breaks() bool {
	return s.r >= v0240 && s.envBool("VLLM_USE_BREAKABLE_CUDAGRAPH", false)
}

// isCompiling says whether vLLM's own compiler runs.
func (s *state) isCompiling() bool { return s.Is("compilation.mode", "VLLM_COMPILE", 3) }

func (s *state) notCompiling() bool { return s.Is("compilation.mode", "NONE", 0) }

// inductorOff warns that optimisations of compiled code are lost.
func (s *state) inductorOff() error {
	if s.r >= v0320 && s.breaks() {
		return nil
	}
	if s.Is("compilation.backend", "eager") || !s.Nil("compilation.mode") && !s.isCompiling() {
		s.warn("Inductor compilation was disabled by user settings, optimizations settings that are only active during inductor compilation will be ignored.")
	}
	return nil
}

// compileDefault compiles unless the optimisation level is 0.
func (s *state) compileDefault() error {
	if !s.Nil("compilation.mode") {
		return nil
	}
	mode := "VLLM_COMPILE"
	s.because("", byDefault, "vLLM's own compiler, except at optimisation level 0.", "optimization_level")
	if s.Is("optimization_level", "O0") {
		mode = "NONE"
	}
	s.Set("compilation.mode", mode)
	return nil
}

// customOpsDefault leaves operators to the compiler where there is one.
func (s *state) customOpsDefault() error {
	ops := s.customOps()
	if slices.Contains(ops, any("all")) || slices.Contains(ops, any("none")) {
		return nil
	}
	s.because("", byCoupling, "Compiled code makes its own kernels; without a compiler all custom kernels are used.", "compilation.mode")
	if s.Is("compilation.backend", "inductor") && !s.notCompiling() {
		s.addCustomOp("none")
	} else {
		s.addCustomOp("all")
	}
	return nil
}

// irPriorities orders the implementations of normalisations.
func (s *state) irPriorities() error {
	own := "'native'"
	if !s.Is("compilation.backend", "inductor") || s.notCompiling() {
		own = "'vllm_c', 'native'"
	}
	if s.envBool("VLLM_USE_OINK_OPS", false) {
		own = "'oink', " + own
	}
	s.irPriority, _, _ = strings.Cut(strings.TrimPrefix(own, "'"), "'")
	line := fmt.Sprintf("rms_norm=[%s], fused_add_rms_norm=[%s]", own, own)
	if s.r >= v0320 {
		line += ", gelu_and_mul_sparse=['triton', 'native']"
	}
	s.info("Final IR op priority after setting platform defaults: IrOpPriorityConfig(%s)", line)
	return nil
}

// optimisationLevel fills in what the optimisation level decides.
func (s *state) optimisationLevel() error {
	level := s.Str("optimization_level")
	fill := func(name string, value any, by, rule string, coupled ...string) {
		if s.Known(name) && s.Nil(name) {
			s.because("", by, rule, append(coupled, "optimization_level")...)
			s.Set(name, value)
		}
	}
	zero, one := level == "O0", level == "O1"
	norm := !zero && (s.customOp("rms_norm") || s.customOp("quant_fp8") || s.irPriority != "" && s.irPriority != "native")
	fill("pass.fuse_norm_quant", norm, byCoupling, "Fused by a pass where a custom kernel is in use; compiled code fuses by itself.", "compilation.custom_ops")
	act := !zero && (s.customOp("silu_and_mul") || s.customOp("quant_fp8"))
	if s.r >= v0191 && !zero {
		act = act || s.nvfp4Weights()
	}
	fill("pass.fuse_act_quant", act, byCoupling, "Fused by a pass where a custom kernel or NVFP4 is in use.", "compilation.custom_ops", "model.quantization")
	fill("pass.fuse_allreduce_rms", !zero && !one && s.fusesAllReduce(), byHardware, fmt.Sprintf("FlashInfer's fused kernel runs on compute capability 9.0 and 10.x with more than one GPU; this is %d.%d.", s.gpu.major, s.gpu.minor), "parallel.tensor_parallel_size")
	fill("pass.fuse_attn_quant", false, byDefault, "Off at every level.")
	fill("pass.enable_sp", false, byDefault, "Off at every level.")
	fill("pass.fuse_gemm_comms", false, byDefault, "Off at every level.")
	fill("pass.eliminate_noops", !zero, byDefault, "On, except at level 0.")
	graphs := "FULL_AND_PIECEWISE"
	switch level {
	case "O0":
		graphs = "NONE"
	case "O1":
		graphs = "PIECEWISE"
	}
	fill("compilation.cudagraph_mode", graphs, byDefault, "None at level 0, piecewise at level 1, else full graphs for decode and pieces for prefill.")
	fill("compilation.use_inductor_graph_partition", false, byDefault, "Off at every level.")
	fill("kernel.enable_flashinfer_autotune", !zero, byDefault, "On, except at level 0.")
	return nil
}

// fusesAllReduce says whether all-reduce and normalisation are one kernel
// (enable_allreduce_rms_fusion).
func (s *state) fusesAllReduce() bool {
	if s.r < v0191 || s.r >= v0320 && s.envBool("VLLM_BATCH_INVARIANT", false) {
		return false
	}
	if s.r < v0240 && (s.Int("parallel.data_parallel_size") > 1 || s.Int("parallel.pipeline_parallel_size") > 1) {
		return false
	}
	return s.Int("parallel.tensor_parallel_size") > 1 && (s.gpu.major == 10 || s.gpu.capability() == 90)
}

// graphDefault is the CUDA graph mode of releases without optimisation levels.
func (s *state) graphDefault() error {
	if s.Nil("compilation.cudagraph_mode") {
		mode := "NONE"
		if s.isCompiling() {
			mode = "FULL_AND_PIECEWISE"
		}
		s.because("", byCoupling, "Full graphs for decode and pieces for prefill, where vLLM's compiler cuts the pieces.", "compilation.mode")
		s.Set("compilation.cudagraph_mode", mode)
	}
	if hasFull(s.Str("compilation.cudagraph_mode")) && s.Int("parallel.decode_context_parallel_size") > 1 {
		s.because("VLLM-GRAPH-MODE", byCoupling, "Decode context parallelism does not work with full graphs.", "parallel.decode_context_parallel_size")
		s.Set("compilation.cudagraph_mode", "PIECEWISE")
		s.warn("Decode context parallel (DCP) is enabled, which is incompatible with full CUDA graphs. Overriding cudagraph_mode to PIECEWISE.")
	}
	return nil
}

// graphsNeedCompiler drops piecewise graphs that nothing cuts into pieces.
func (s *state) graphsNeedCompiler() error {
	mode := s.Str("compilation.cudagraph_mode")
	if !hasPiecewise(mode) || s.isCompiling() || s.breaks() {
		return nil
	}
	number := slices.Index(compileModes, s.Str("compilation.mode"))
	if n, ok := s.Get("compilation.mode").(int); ok {
		number = n
	}
	s.because("", byCoupling, "Pieces are cut by vLLM's compiler.", "compilation.mode")
	if s.r < v0320 {
		s.Set("compilation.cudagraph_mode", "NONE")
		s.info("Cudagraph mode %s is not compatible with compilation mode %d.Overriding to NONE.", mode, number)
		return nil
	}
	fallback := "NONE"
	if mode == "FULL_AND_PIECEWISE" {
		fallback = "FULL_DECODE_ONLY"
	}
	s.Set("compilation.cudagraph_mode", fallback)
	if fallback == "NONE" {
		s.Set("compilation.max_cudagraph_capture_size", 0)
		s.Set("compilation.cudagraph_capture_sizes", []int{})
	}
	s.info("Cudagraph mode %s is not compatible with compilation mode %d. Overriding to %s.", mode, number, fallback)
	return nil
}

// passFields are the fields of PassConfig, in its order.
var passFields = map[release][]string{
	v0112: names(`enable_fusion enable_attn_fusion enable_noop enable_sequence_parallelism enable_async_tp enable_fi_allreduce_fusion
		fi_allreduce_fusion_max_size_mb enable_qk_norm_rope_fusion`),
	v0160: names(`fuse_norm_quant fuse_act_quant fuse_attn_quant eliminate_noops enable_sp fuse_gemm_comms fuse_allreduce_rms fuse_act_padding
		fi_allreduce_fusion_max_size_mb enable_qk_norm_rope_fusion`),
	v0191: names(`fuse_norm_quant fuse_act_quant fuse_attn_quant eliminate_noops enable_sp fuse_gemm_comms fuse_allreduce_rms fuse_minimax_qk_norm
		enable_qk_norm_rope_fusion fuse_act_padding fuse_rope_kvcache rope_kvcache_fusion_max_token_num fi_allreduce_fusion_max_size_mb
		sp_min_token_num`),
	v0240: names(`fuse_norm_quant fuse_act_quant fuse_attn_quant eliminate_noops enable_sp fuse_gemm_comms fuse_allreduce_rms
		enable_qk_norm_rope_fusion fuse_rope_kvcache_cat_mla fuse_act_padding fuse_mla_dual_rms_norm fuse_rope_kvcache
		rope_kvcache_fusion_max_token_num fi_allreduce_fusion_max_size_mb sp_min_token_num`),
	v0320: names(`fuse_norm_quant fuse_act_quant fuse_attn_quant eliminate_noops fuse_allreduce_rms enable_qk_norm_rope_fusion
		fuse_rope_kvcache_cat_mla fuse_act_padding fuse_mla_dual_rms_norm fuse_rope_kvcache fuse_qk_norm_rope_kvcache
		rope_kvcache_fusion_max_token_num fi_allreduce_fusion_max_size_mb`),
}

// fusions prints the fusion passes that run.
func (s *state) fusions() error {
	var on []string
	asked, _ := s.cc["pass_config"].(map[string]any)
	for _, field := range passFields[s.r] {
		name, fuses := strings.CutPrefix(field, "fuse_")
		runs := s.Bool("pass." + field)
		if !s.Known("pass." + field) {
			var given bool
			if runs, given = asked[field].(bool); !given && name == "rope_kvcache_cat_mla" {
				runs = s.fusesCacheUpdate()
			}
		}
		if fuses && runs {
			on = append(on, name)
		}
	}
	if len(on) > 0 {
		s.info("Enabled custom fusions: %s", strings.Join(on, ", "))
	}
	return nil
}

// fusesCacheUpdate says whether rotary positions are fused with the write to the
// KV cache of latent attention: where the model is not split there
// (enable_rope_kvcache_mla_fusion).
func (s *state) fusesCacheUpdate() bool {
	if s.Is("optimization_level", "O0", "O1") {
		return false
	}
	ops, given := s.cc["splitting_ops"].([]any)
	switch {
	case s.Bool("compilation.use_inductor_graph_partition"):
		return true
	case !given:
		return s.Bool("pass.fuse_attn_quant")
	}
	return !slices.Contains(ops, any("vllm::unified_kv_cache_update")) || !slices.Contains(ops, any("vllm::unified_mla_kv_cache_update"))
}
