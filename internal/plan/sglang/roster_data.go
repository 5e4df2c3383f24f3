package sglang

// Lists of sglang/srt/configs/model_config.py, by the first release read that
// has the name.

// multimodalArchs is multimodal_model_archs.
var multimodalArchs = newRoster(joined{
	r0502: `CLIPModel DeepseekVL2ForCausalLM Gemma3ForConditionalGeneration Gemma3nForConditionalGeneration
		Glm4vForConditionalGeneration Glm4vMoeForConditionalGeneration Grok1VForCausalLM Grok1AForCausalLM
		LlavaLlamaForCausalLM Llama4ForConditionalGeneration LlavaMistralForCausalLM LlavaQwenForCausalLM
		LlavaForConditionalGeneration LlavaVidForCausalLM MiniCPMO MiniCPMV Mistral3ForConditionalGeneration
		MultiModalityCausalLM MllamaForConditionalGeneration Qwen2AudioForConditionalGeneration
		Qwen2VLForConditionalGeneration Qwen2_5_VLForConditionalGeneration KimiVLForConditionalGeneration
		InternVLChatModel InternS1ForConditionalGeneration Phi4MMForCausalLM VILAForConditionalGeneration
		Step3VLForConditionalGeneration`,
	r0506: `NemotronH_Nano_VL_V2 PixtralForConditionalGeneration Qwen3VLForConditionalGeneration
		Qwen3VLMoeForConditionalGeneration Qwen3OmniMoeForConditionalGeneration POINTSV15ChatModel DotsVLMForCausalLM
		DotsOCRForCausalLM Sarashina2VisionForCausalLM NVILAForConditionalGeneration
		NVILALiteForConditionalGeneration DeepseekOCRForCausalLM JetVLMForConditionalGeneration
		PaddleOCRVLForConditionalGeneration`,
	r0508: `GlmAsrForConditionalGeneration MiDashengLMModel`,
	r0509: `Ernie4_5_VLMoeForConditionalGeneration GlmOcrForConditionalGeneration LightOnOCRForConditionalGeneration
		Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration InternS1ProForConditionalGeneration
		StepVLForConditionalGeneration KimiK25ForConditionalGeneration`,
	r0510: `Lfm2VlForConditionalGeneration WhisperForConditionalGeneration`,
	r0512: `Gemma4ForConditionalGeneration MiMoV2ForCausalLM MossVLForConditionalGeneration
		NemotronH_Nano_Omni_Reasoning_V3 InternS2PreviewForConditionalGeneration Qwen3ASRForConditionalGeneration
		VoxtralForConditionalGeneration`,
	r0515: `Cohere2VisionForConditionalGeneration MiniMaxM3SparseForConditionalGeneration
		Gemma4UnifiedForConditionalGeneration MiMoV2ASRForCausalLM LocateAnythingForConditionalGeneration
		UnlimitedOCRForCausalLM Step3p7ForConditionalGeneration`,
	r0518: `GlmImageForConditionalGeneration MuseGlimmerForConditionalGeneration InternS2MobiusForConditionalGeneration`,
	r0523: `Cosmos3EdgeForConditionalGeneration EmbeddingGemma2Model DiffusionGemmaForBlockDiffusion
		Glm5NextForConditionalGeneration NemotronH_Omni_Reasoning_V3 MuseSparkForConditionalGeneration
		Qwen4ExpForConditionalGeneration Dots3NoteForCausalLM BailingMMNativeForConditionalGeneration
		BailingMM2NativeForConditionalGeneration BailingMoeV3VLForConditionalGeneration`,
}, joined{r0506: `VILAForConditionalGeneration`})

// textOnly are architectures that are multimodal only when asked for
// (mm_disabled_models).
var textOnly = newRoster(joined{
	r0502: `Gemma3ForConditionalGeneration Llama4ForConditionalGeneration Step3VLForConditionalGeneration`,
	r0518: `InklingForConditionalGeneration`,
}, nil)

// notGenerating are architectures that only embed or classify
// (is_generation_model).
var notGenerating = newRoster(joined{
	r0502: `LlamaEmbeddingModel MistralModel LlamaForSequenceClassification
		LlamaForSequenceClassificationWithNormal_Weights InternLM2ForRewardModel Qwen2ForRewardModel
		Qwen2ForSequenceClassification Qwen3ForSequenceClassification CLIPModel BertModel Contriever
		BertForSequenceClassification XLMRobertaModel XLMRobertaForSequenceClassification`,
	r0509: `Qwen3ForRewardModel Gemma2ForSequenceClassification`,
	r0518: `Qwen3Model Lfm2BidirectionalModel`,
	r0523: `EmbeddingGemma2Model`,
}, nil)

// mlaArchs have multi-head latent attention (_derive_model_shapes). Three of
// them only under conditions, see deriveShapes.
var mlaArchs = newRoster(joined{
	r0502: `DeepseekV2ForCausalLM DeepseekV3ForCausalLM DeepseekV3ForCausalLMNextN LongcatFlashForCausalLM
		LongcatFlashForCausalLMNextN MiniCPM3ForCausalLM DeepseekVL2ForCausalLM KimiVLForConditionalGeneration`,
	r0506: `DeepseekV32ForCausalLM DotsVLMForCausalLM MistralLarge3ForCausalLM PixtralForConditionalGeneration
		MistralLarge3ForCausalLMEagle KimiLinearForCausalLM`,
	r0508: `Glm4MoeLiteForCausalLM`,
	r0509: `GlmMoeDsaForCausalLM KimiK25ForConditionalGeneration BailingMoeV2_5ForCausalLM
		BailingMoeForCausalLMNextN`,
	r0510: `SarvamMLAForCausalLM`,
	r0512: `Eagle3DeepseekV2ForCausalLM`,
	r0515: `Glm4MoeLiteForCausalLMNextN`,
	r0518: `GlmMoeDsaForCausalLMNextN KimiK3ForConditionalGeneration`,
	r0523: `Glm5NextForConditionalGeneration Glm5NextForConditionalGenerationNextN HYV4ForCausalLM
		HYV4ForCausalLMNextN Dots3NoteForCausalLM Dots3NoteForCausalLMNextN GigaChat35ForCausalLM
		GigaChat35ForCausalLMNextN KimiK3LinearForCausalLM BailingMoeV3ForCausalLM
		BailingMoeV3VLForConditionalGeneration`,
}, nil)

// hybridSWAArchs mix sliding-window and full attention (is_hybrid_swa_model).
var hybridSWAArchs = newRoster(joined{
	r0508: `Llama4ForConditionalGeneration GptOssForCausalLM MiMoV2FlashForCausalLM MiMoV2MTP`,
	r0509: `Step3p5ForCausalLM Step3p5MTP`,
	r0512: `DeepseekV4ForCausalLM DeepseekV4ForCausalLMNextN MiMoV2ForCausalLM Gemma4ForCausalLM
		Gemma4ForConditionalGeneration LagunaForCausalLM`,
	r0515: `Step3p7ForConditionalGeneration Gemma4UnifiedForConditionalGeneration UnlimitedOCRForCausalLM`,
	r0518: `DeepseekV4ForCausalLMDSpark MellumForCausalLM MuseGlimmerForCausalLM
		MuseGlimmerForConditionalGeneration InklingForConditionalGeneration InklingForConditionalGenerationMTP`,
	r0523: `BeamForCausalLM GraniteSWAForCausalLM GraniteMoeSWAForCausalLM IQuestQ1ForCausalLM IQuestQ1MTP
		EmbeddingGemma2Model DiffusionGemmaForBlockDiffusion`,
}, nil)

// dsaArchs have DeepSeek's sparse attention when they carry index_topk
// (is_deepseek_nsa, from 0.5.15 is_deepseek_dsa).
var dsaArchs = newRoster(joined{
	r0506: `DeepseekV3ForCausalLM DeepseekV32ForCausalLM DeepseekV3ForCausalLMNextN MistralLarge3ForCausalLM
		PixtralForConditionalGeneration`,
	r0509: `GlmMoeDsaForCausalLM`,
	r0518: `GlmMoeDsaForCausalLMNextN LongcatFlashForCausalLM LongcatFlashForCausalLMNextN`,
	r0523: `Glm5NextForConditionalGenerationNextN Glm5NextForConditionalGeneration Dots3NoteForCausalLM
		Dots3NoteForCausalLMNextN HYV4ForCausalLM HYV4ForCausalLMNextN`,
}, nil)

// noPiecewiseArchs is piecewise_cuda_graph_disabled_model_archs.
var noPiecewiseArchs = newRoster(joined{
	r0510: `DeepseekV32ForCausalLM Qwen3NextForCausalLM GlmMoeDsaForCausalLM BailingMoeV2_5ForCausalLM LLaDAModelLM`,
	r0512: `DeepseekV4ForCausalLM DeepseekV4ForCausalLMNextN`,
	r0518: `DeepseekV4ForCausalLMDSpark`,
	r0523: `Glm5NextForConditionalGeneration`,
}, joined{r0515: `DeepseekV32ForCausalLM GlmMoeDsaForCausalLM`})

// piecewiseVision is multimodal_piecewise_cuda_graph_supported_model_archs.
var piecewiseVision = newRoster(joined{
	r0515: `Cohere2VisionForConditionalGeneration`,
	r0518: `KimiK25ForConditionalGeneration MiniMaxM3SparseForCausalLM MiniMaxM3SparseForConditionalGeneration`,
}, joined{r0523: `Cohere2VisionForConditionalGeneration`})

// breakableVision is multimodal_breakable_cuda_graph_supported_model_archs.
var breakableVision = newRoster(joined{
	r0518: `InternS2MobiusForConditionalGeneration Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration
		MuseGlimmerForConditionalGeneration KimiK3ForConditionalGeneration KimiK25ForConditionalGeneration`,
	r0523: `MiniMaxM3SparseForConditionalGeneration Cohere2VisionForConditionalGeneration
		Glm5NextForConditionalGeneration PaddleOCRVLForConditionalGeneration Qwen4ExpForConditionalGeneration
		MuseSparkForConditionalGeneration MiniMaxM3SparseForCausalLM`,
}, nil)

// rocmMethods run on AMD GPUs (rocm_supported_quantization).
var rocmMethods = newRoster(joined{
	r0502: `awq gptq fp8 compressed_tensors compressed-tensors fbgemm_fp8 w8a8_fp8 petit_nvfp4 quark mxfp4`,
	r0506: `auto-round`,
	r0508: `quark_int4fp8_moe`,
	r0515: `mxfp8 auto-round-int8 quark_mxfp4`,
}, joined{r0518: `fbgemm_fp8`, r0523: `gptq`})

// optimisedMethods are those that SGLang does not call slow
// (optimized_quantization_methods).
var optimisedMethods = newRoster(joined{
	r0502: `fp8 marlin modelopt gptq_marlin_24 gptq_marlin awq_marlin fbgemm_fp8 compressed_tensors compressed-tensors
		experts_int8 w8a8_int8 w8a8_fp8 moe_wna16 qoq w4afp8 petit_nvfp4`,
	r0506: `modelopt_fp8 modelopt_fp4 quark`,
	r0508: `modelslim`,
	r0510: `modelopt_mixed`,
	r0515: `nvfp4_online quark_mxfp4`,
	r0518: `humming auto-round`,
	r0523: `minimax_m3_nvfp4`,
}, joined{r0506: `modelopt`, r0518: `fbgemm_fp8 qoq`})
