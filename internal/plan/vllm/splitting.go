package vllm

// splitting says what CUDA graphs are left where the compiled model is not cut
// at its attention layers: because the user names no operator to cut at, or
// because attention is fused with what follows it.
func (s *state) splitting() error {
	if !s.isCompiling() {
		return nil
	}
	mode := s.Str("compilation.cudagraph_mode")
	ops, asked := s.cc["splitting_ops"].([]any)
	inductor := s.Bool("compilation.use_inductor_graph_partition")
	fuse := "fuse_attn_quant"
	if s.r < v0160 {
		fuse = "enable_attn_fusion"
	}
	switch {
	case inductor && s.r < v0160:
	case s.Bool("pass."+fuse) && !inductor:
		if !asked && hasPiecewise(mode) {
			s.because("", byCoupling, "Fused attention must not be cut off.", "pass."+fuse)
			s.Set("compilation.cudagraph_mode", "FULL")
			s.warn("%s is incompatible with piecewise cudagraph when use_inductor_graph_partition is off. In this case, splitting_ops will be set to empty list, and cudagraph_mode will be set to FULL. Please ensure you are using attention backends that support cudagraph or set cudagraph_mode to NONE explicitly if encountering any problems.", fuse)
		}
	case asked && len(ops) == 0:
		s.uncut(mode)
	}
	return nil
}

// uncut drops piecewise graphs of a model that is not cut into pieces.
func (s *state) uncut(mode string) {
	does, pieces := "does ", "Using piecewise cudagraph with empty splitting_ops"
	if s.r < v0160 {
		pieces = "Using piecewise compilation with empty splitting_ops"
	}
	if hasPiecewise(mode) || s.r < v0160 {
		s.warn("%s", pieces)
	}
	s.because("", byCoupling, "Nothing is cut off the compiled model.", "compilation.splitting_ops")
	const hint = "Hint: If you are using attention backends that support cudagraph, consider manually setting cudagraph_mode to FULL or FULL_DECODE_ONLY to enable full cudagraphs."
	switch {
	case mode == "PIECEWISE":
		s.Set("compilation.cudagraph_mode", "NONE")
		what := does + "not contain"
		if s.r < v0160 {
			what = "do notcontains"
		}
		s.warn("Piecewise compilation with empty splitting_ops %s piecewise cudagraph. Setting cudagraph_mode to NONE. %s", what, hint)
	case mode == "FULL_AND_PIECEWISE":
		s.Set("compilation.cudagraph_mode", "FULL")
		what := does + "not contain"
		if s.r < v0160 {
			what = "do not contains"
		}
		s.warn("Piecewise compilation with empty splitting_ops %s piecewise cudagraph. Setting cudagraph_mode to FULL.", what)
	}
}

// stockCompile turns CUDA graphs off around a model that plain torch.compile
// compiles.
func (s *state) stockCompile() error {
	mode := s.Str("compilation.cudagraph_mode")
	if !s.Is("compilation.mode", "STOCK_TORCH_COMPILE", 1) || mode == "NONE" || !s.newRunner() {
		return nil
	}
	s.because("", byCoupling, "Plain torch.compile makes no graphs that vLLM could replay.", "compilation.mode")
	s.Set("compilation.cudagraph_mode", "NONE")
	s.Set("compilation.max_cudagraph_capture_size", 0)
	s.Set("compilation.cudagraph_capture_sizes", []int{})
	s.info("CUDA graphs are not supported with stock torch.compile in Model Runner V2. Overriding cudagraph_mode %s to NONE.", mode)
	return nil
}
