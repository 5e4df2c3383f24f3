package sglang

// configDefaults are fields that the configuration classes fill in when
// config.json leaves them out, by model type: "kv=8" is the default,
// "layers=n_layer:12" says that the class calls the field n_layer
// (attribute_map), "-" is None, "text=x" says that the class always has a
// text_config, of model type x. Read from the configuration_*.py of transformers
// 5.19.0 (of the last of 5.12.1, 5.6.0, 5.3.0, 5.2.0 and 4.57.1 that has the
// type, otherwise) and, for types that SGLang brings itself, from
// sglang/srt/configs of 0.5.23. Between these releases the defaults of language
// models do not differ.
const configDefaults = `
EvollaModel ctx=8192 layers=32 heads=32 kv=8 width=4096
Glm4vMoe_text ctx=65536 layers=46 heads=96 kv=8 width=4096
afmoe ctx=131072 layers=32 heads=32 kv=- width=4096 head=- window=-
aimv2 text=aimv2_text_model
aimv2_text_model ctx=77 layers=12 heads=6 width=768
albert ctx=512 layers=12 heads=64 width=4096
align text=align_text_model
align_text_model ctx=512 layers=12 heads=12 width=768
apertus ctx=65536 layers=32 heads=32 kv=- width=4096
arcee ctx=4096 layers=32 heads=32 kv=- width=2560 head=-
aria text=aria_text
aria_text ctx=2048 layers=32 heads=32 kv=- width=4096 head=-
axk1 ctx=32768 layers=61 heads=64 kv=64 width=7168
axk2 ctx=131072 layers=48 heads=32 kv=32 width=2048 head=64
bailing_hybrid ctx=32768 layers=20 heads=16 kv=4 width=2048 head=128
bailing_moe_v2 ctx=16384 layers=24 heads=16 kv=0 width=1024 head=- window=81920
bamba ctx=262144 layers=32 heads=32 kv=8 width=4096
bart ctx=1024 layers=encoder_layers:12 heads=encoder_attention_heads:16 width=d_model:1024
beam ctx=1048576 layers=52 heads=48 kv=8 width=5120 head=128 window=512
bert ctx=512 layers=12 heads=12 width=768
bert-generation ctx=512 layers=24 heads=16 width=1024
big_bird ctx=4096 layers=12 heads=12 width=768
bigbird_pegasus ctx=4096 layers=encoder_layers:16 heads=encoder_attention_heads:16 width=d_model:1024
biogpt ctx=1024 layers=24 heads=16 width=1024
bitnet ctx=2048 layers=30 heads=20 kv=5 width=2560
blenderbot ctx=128 layers=encoder_layers:2 heads=encoder_attention_heads:32 width=d_model:2560
blenderbot-small ctx=512 layers=encoder_layers:8 heads=encoder_attention_heads:16 width=d_model:512
bloom layers=n_layer:2 heads=n_head:8 width=64
blt ctx=4096
blt_global_transformer ctx=4096 layers=25 heads=16 kv=- width=2048
blt_local_decoder ctx=24576 layers=9 heads=16 kv=- width=1024
blt_patcher ctx=8192 layers=14 heads=12 kv=- width=768
bros ctx=512 layers=12 heads=12 width=768
camembert ctx=512 layers=12 heads=12 width=768
canine ctx=16384 layers=12 heads=12 width=768
chameleon ctx=4096 layers=32 heads=32 kv=32 width=4096
chatglm layers=num_layers:28 heads=32 width=4096 seq=2048
clap text=clap_text_model
clap_text_model ctx=514 layers=12 heads=12 width=768
clvp text=clvp_encoder
clvp_decoder ctx=608 layers=30 heads=16 width=1024
coarse_acoustics layers=num_layers:12 heads=num_heads:12 width=768
codegen ctx=n_positions:2048 layers=n_layer:28 heads=n_head:16 width=n_embd:4096
cohere ctx=8192 layers=40 heads=64 kv=- width=8192
cohere2 ctx=8192 layers=40 heads=64 kv=- width=8192 window=4096
cohere2_moe ctx=8192 layers=40 heads=64 kv=- width=8192 head=128 window=4096
cohere_compass text=cohere_compass_text
cohere_compass_text ctx=8192 layers=40 heads=64 kv=- width=8192 window=4096
convbert ctx=512 layers=12 heads=12 width=768
cosmos3_edge text=cosmos3_edge_text
cosmos3_edge_text ctx=131072 layers=28 heads=16 kv=8 width=2048 head=128
cosmos3_omni text=qwen3_vl_text
csm ctx=2048 layers=16 heads=32 kv=8 width=2048 head=-
ctrl ctx=n_positions:256 layers=n_layer:48 heads=n_head:16 width=n_embd:1280
cwm ctx=131072 layers=64 heads=48 kv=8 width=6144 head=128 window=8192
d_fine heads=encoder_attention_heads:8 width=d_model:256
dbrx ctx=max_seq_len:2048 layers=n_layers:24 heads=n_heads:16 width=d_model:2048 maxlen=2048
deberta ctx=512 layers=12 heads=12 width=768
deberta-v2 ctx=512 layers=24 heads=24 width=1536
deepseek_ocr2 text=deepseek_ocr2_text
deepseek_ocr2_text ctx=2048 layers=32 heads=32 kv=- width=4096 head=-
deepseek_v2 ctx=2048 layers=30 heads=32 kv=32 width=4096
deepseek_v3 ctx=4096 layers=61 heads=128 kv=128 width=7168
deepseek_v32 ctx=163840 layers=61 heads=128 kv=128 width=7168 head=64
deepseek_v4 ctx=65536 layers=43 heads=64 kv=1 width=4096
deimv2 heads=encoder_attention_heads:8 width=d_model:256
dia_decoder ctx=3072 layers=18 heads=16 kv=4 width=2048 head=128
diffllama ctx=2048 layers=16 heads=32 kv=- width=2048 head=-
diffusion_gemma text=diffusion_gemma_text
diffusion_gemma_text ctx=131072 layers=30 heads=8 kv=4 width=2304 head=256 window=512
dinat heads=num_heads:
distilbert ctx=512 layers=n_layers:6 heads=n_heads:12 width=dim:768
doge ctx=2048 layers=32 heads=8 kv=- width=1024 window=-
dots1 ctx=2048 layers=62 heads=32 kv=32 width=4608 window=4096
dots3_note ctx=8192 layers=30 heads=64 kv=64 width=2560
dpr ctx=512 layers=12 heads=12 width=768
electra ctx=512 layers=12 heads=4 width=256
embedding_gemma2 text=embedding_gemma2_text
embedding_gemma2_text ctx=262144 layers=24 heads=4 kv=2 width=512 head=256 window=512
emu3 text=emu3_text_model
emu3_text_model ctx=9216 layers=32 heads=32 kv=8 width=4096
ernie ctx=512 layers=12 heads=12 width=768
ernie4_5 ctx=131072 layers=18 heads=16 kv=2 width=1024 head=128
ernie4_5_moe ctx=131072 layers=28 heads=20 kv=4 width=2560
ernie4_5_vl_moe text=ernie4_5_vl_moe_text
ernie4_5_vl_moe_text ctx=131072 layers=28 heads=20 kv=4 width=2560
eurobert ctx=8192 layers=12 heads=12 kv=- width=768 head=-
evolla ctx=8192 layers=32 heads=32 kv=8 width=4096
exaone ctx=2048 layers=num_layers:32 heads=32 kv=- width=2048
exaone4 ctx=2048 layers=32 heads=32 kv=32 width=4096 window=4096
exaone_moe ctx=2048 layers=32 heads=32 kv=32 width=4096 window=4096
falcon ctx=2048 layers=32 heads=71 width=4544
falcon_h1 ctx=8192 layers=32 heads=32 kv=8 width=4096
fine_acoustics layers=num_layers:12 heads=num_heads:12 width=768
flaubert ctx=512 layers=n_layers:12 heads=n_heads:16 width=emb_dim:2048
flex_olmo ctx=4096 layers=32 heads=32 kv=- width=4096
fnet ctx=512 layers=12 width=768
fsmt ctx=1024 layers=encoder_layers:12 heads=encoder_attention_heads:16 width=d_model:1024
funnel heads=n_head:12 width=d_model:768
fuyu ctx=16384 layers=36 heads=64 width=4096
gemma ctx=8192 layers=28 heads=16 kv=16 width=3072 head=256
gemma2 ctx=8192 layers=26 heads=8 kv=4 width=2304 head=256 window=4096
gemma3 text=gemma3_text
gemma3_text ctx=131072 layers=26 heads=8 kv=4 width=2304 head=256 window=4096
gemma3n text=gemma3n_text
gemma3n_text ctx=32768 layers=35 heads=8 kv=2 width=2048 head=256 window=512
gemma4 text=gemma4_text
gemma4_text ctx=131072 layers=30 heads=8 kv=4 width=2304 head=256 window=512
gemma4_unified text=gemma4_unified_text
gemma4_unified_text ctx=262144 layers=30 heads=8 kv=4 width=2304 head=256 window=1024
gigachat3_5 ctx=4096 layers=12 heads=16 kv=16 width=1280 head=64
glm ctx=131072 layers=40 heads=32 kv=2 width=4096 head=128
glm4 ctx=131072 layers=40 heads=32 kv=2 width=4096 head=128
glm4_moe ctx=131072 layers=46 heads=96 kv=8 width=4096
glm4_moe_lite ctx=202752 layers=47 heads=20 kv=20 width=2048 head=qk_rope_head_dim:64
glm4v text=glm4v_text
glm4v_moe text=glm4v_moe_text
glm4v_moe_text ctx=65536 layers=46 heads=96 kv=8 width=4096
glm4v_text ctx=32768 layers=40 heads=32 kv=2 width=4096
glm5_next text=glm5_next_text
glm5_next_text ctx=1013760 layers=45 heads=64 kv=- width=4096 head=-
glm_moe_dsa ctx=202752 layers=78 heads=64 kv=64 width=6144 head=64
glm_ocr text=glm_ocr_text
gpt2 ctx=n_positions:1024 layers=n_layer:12 heads=n_head:12 width=n_embd:768
gpt_bigcode ctx=n_positions:1024 layers=n_layer:12 heads=n_head:12 width=n_embd:768
gpt_neo ctx=2048 layers=num_layers:24 heads=num_heads:16 width=2048
gpt_neox ctx=2048 layers=44 heads=64 width=6144
gpt_neox_japanese ctx=2048 layers=32 heads=32 width=2560
gpt_oss ctx=131072 layers=36 heads=64 kv=8 width=2880 head=64 window=128
gptj ctx=n_positions:2048 layers=n_layer:28 heads=n_head:16 width=n_embd:4096
granite ctx=2048 layers=32 heads=32 kv=- width=4096
granite_swa ctx=8192 layers=24 heads=20 kv=4 width=2560 window=128
granitemoe ctx=2048 layers=32 heads=32 kv=- width=4096
granitemoe_swa ctx=2048 layers=32 heads=32 kv=- width=4096 window=128
granitemoehybrid ctx=131072 layers=40 heads=32 kv=8 width=2048
granitemoeshared ctx=2048 layers=32 heads=32 kv=- width=4096
groupvit_text_model ctx=77 layers=12 heads=4 width=256
gte ctx=8192 layers=12 heads=12 width=768
helium ctx=4096 layers=24 heads=20 kv=20 width=2560 head=128
hrm_text ctx=2048 layers=16 heads=12 width=1536 head=128
hunyuan_v1_dense ctx=2048 layers=32 heads=32 kv=- width=4096 head=-
hunyuan_v1_moe ctx=2048 layers=32 heads=32 kv=- width=4096 head=-
hunyuan_vl text=hunyuan_vl_text
hunyuan_vl_text ctx=2048 layers=32 heads=32 kv=- width=4096 head=-
hy_v3 ctx=131072 layers=80 heads=64 kv=8 width=4096 head=128
hy_v4 ctx=262144 layers=34 heads=32 kv=32 width=2816
hyperclovax ctx=2048 layers=32 heads=32 kv=- width=4096 head=-
ibert ctx=512 layers=12 heads=12 width=768
idefics ctx=2048 layers=32 heads=32 width=4096
inkling_mm_model text=inkling_model
inkling_text ctx=131072 layers=66 heads=64 kv=8 width=6144 head=128 window=sliding_window_size:512 modelmax=max_position_embeddings:131072
intern_s2_preview text=qwen3_5_moe_text
internlm2 ctx=2048 layers=32 heads=32 kv=- width=4096
interns2_mobius text=interns2_mobius_text
iquest_q1 ctx=524288 layers=88 heads=48 kv=8 width=3072 head=128 window=4096
iquest_q1_mtp ctx=524288 layers=88 heads=48 kv=8 width=3072 head=128 window=512
jais2 ctx=8192 layers=32 heads=26 kv=- width=3328 head=-
jamba ctx=262144 layers=32 heads=32 kv=8 width=4096
jet_nemotron ctx=- heads=- kv=- width=-
jet_vlm text=jet_nemotron
jetmoe ctx=4096 layers=12 kv=16 width=2048 head=kv_channels:128
jina_embeddings_v3 ctx=8194 layers=24 heads=16 width=1024
kimi_linear ctx=4096 layers=32 heads=32 kv=- width=4096 head=-
laguna ctx=131072 layers=40 heads=48 kv=8 width=2048 head=128 window=512
layoutxlm ctx=512 layers=12 heads=12 width=768
led layers=encoder_layers:12 heads=encoder_attention_heads:16 width=d_model:1024
lfm2 ctx=128000 layers=32 heads=32 kv=8 width=2560
lfm2_moe ctx=128000 layers=32 heads=32 kv=8 width=2048
lilt ctx=512 layers=12 heads=12 width=768
llama ctx=2048 layers=32 heads=32 kv=- width=4096 head=-
llama4 text=llama4_text
llama4_text ctx=131072 layers=48 heads=40 kv=8 width=5120 head=128
longcat_flash ctx=131072 layers=- heads=64 width=6144
longformer ctx=512 layers=12 heads=12 width=768
longt5 layers=num_layers:6 heads=num_heads:8 width=d_model:512 head=d_kv:64
luke ctx=512 layers=12 heads=12 width=768
m2m_100 ctx=1024 layers=encoder_layers:12 heads=encoder_attention_heads:16 width=d_model:1024
marian ctx=1024 layers=encoder_layers:12 heads=encoder_attention_heads:16 width=d_model:1024
mask2former layers=decoder_layers:10 heads=8 width=hidden_dim:256
maskformer width=mask_feature_size:256
mbart ctx=1024 layers=encoder_layers:12 heads=encoder_attention_heads:16 width=d_model:1024
megatron-bert ctx=512 layers=24 heads=16 width=1024
mellum ctx=131072 layers=28 heads=32 kv=4 width=2304 head=128 window=1024
mimi ctx=8000 layers=8 heads=8 kv=8 width=512 head=- window=250
mimo_v2_flash ctx=131072 layers=48 heads=64 kv=4 width=4096 head=192 window=128
minicpm3 ctx=32768 layers=62 heads=40 kv=40 width=2560 head=-
minicpm_sala ctx=32768 layers=32 heads=32 kv=8 width=4096 head=-
minimax ctx=131072 layers=32 heads=32 kv=8 width=4096 head=- window=-
minimax_m2 ctx=196608 layers=62 heads=48 kv=8 width=3072 head=128
minimax_m3_vl_text ctx=524288 layers=60 heads=64 kv=4 width=6144 head=128
ministral ctx=131072 layers=32 heads=32 kv=8 width=4096 head=- window=4096
ministral3 ctx=262144 layers=34 heads=32 kv=8 width=4096 head=128 window=-
mistral ctx=131072 layers=32 heads=32 kv=8 width=4096 head=- window=4096
mistral4 ctx=1048576 layers=36 heads=32 kv=32 width=4096
mixtral ctx=131072 layers=32 heads=32 kv=8 width=4096 head=- window=-
mllama text=mllama_text_model
mllama_text_model ctx=131072 layers=40 heads=32 kv=8 width=4096
mobilebert ctx=512 layers=24 heads=4 width=512
modernbert ctx=8192 layers=22 heads=12 width=768
modernbert-decoder ctx=8192 layers=22 heads=12 width=768
moshi ctx=3000 layers=32 heads=32 kv=- width=4096 head=- window=3000
mpnet ctx=512 layers=12 heads=12 width=768
mpt layers=n_layers:24 heads=n_heads:16 width=d_model:2048 maxlen=2048
mra ctx=512 layers=12 heads=12 width=768
mt5 layers=num_layers:8 heads=num_heads:6 width=d_model:512 head=d_kv:64
muse_glimmer ctx=16384 layers=52 heads=32 kv=2 width=6656 head=128 window=2048
muse_glimmer_assistant ctx=131072 layers=5 heads=32 kv=8 width=6656 head=128 window=2048
muse_glimmer_text ctx=131072 layers=52 heads=32 kv=2 width=6656 head=128 window=2048
muse_spark text=muse_spark_text
muse_spark_text ctx=1048576 layers=62 heads=128 kv=16 width=8192 head=64 window=2048
mvp ctx=1024 layers=encoder_layers:12 heads=encoder_attention_heads:16 width=d_model:1024
nanbeige ctx=4096 layers=22 heads=48 kv=- width=3072 head=-
nanochat ctx=2048 layers=12 heads=6 kv=- width=768
nemotron ctx=4096 layers=32 heads=48 kv=- width=6144 head=-
nemotron_h ctx=4096 layers=- heads=32 kv=8 width=4096 head=128 window=-
nemotron_h_puzzle ctx=4096 layers=- heads=32 kv=8 width=4096 head=128 window=-
nllb-moe ctx=1024 layers=encoder_layers:12 heads=encoder_attention_heads:16 width=d_model:1024
nomic_bert ctx=2048 layers=12 heads=12 width=768 head=-
nystromformer ctx=510 layers=12 heads=12 width=768
olmo ctx=2048 layers=32 heads=32 kv=- width=4096
olmo2 ctx=2048 layers=32 heads=32 kv=- width=4096
olmo3 ctx=2048 layers=32 heads=32 kv=- width=4096 window=4096
olmo_hybrid ctx=65536 layers=32 heads=30 kv=- width=3840
olmoe ctx=4096 layers=16 heads=16 kv=- width=2048
omdet-turbo heads=encoder_attention_heads:8
oneformer layers=decoder_layers:10 heads=8 width=hidden_dim:256
openai-gpt ctx=n_positions:512 layers=n_layer:12 heads=n_head:12 width=n_embd:768
openai_privacy_filter ctx=131072 layers=8 heads=14 kv=2 width=640 head=64 window=128
opt ctx=2048 layers=12 heads=12 width=768
ovis2 width=1536
paligemma width=2048
pegasus ctx=1024 layers=encoder_layers:12 heads=encoder_attention_heads:16 width=d_model:1024
pegasus_x ctx=16384 layers=encoder_layers:16 heads=encoder_attention_heads:16 width=d_model:1024
persimmon ctx=16384 layers=36 heads=64 width=4096
phi ctx=2048 layers=24 heads=32 kv=- width=2048
phi3 ctx=4096 layers=32 heads=32 kv=- width=3072 window=-
phi4_multimodal ctx=131072 layers=32 heads=32 kv=8 width=3072 window=-
phimoe ctx=131072 layers=32 heads=32 kv=8 width=4096 window=-
plbart ctx=1024 layers=encoder_layers:6 heads=encoder_attention_heads:12 width=d_model:768
pp_doclayout_v2 heads=encoder_attention_heads:8 width=d_model:256
pp_doclayout_v3 heads=encoder_attention_heads:8 width=d_model:256
pp_formulanet ctx=2560 layers=encoder_layers:12 heads=encoder_attention_heads:16 width=d_model:512
prophetnet ctx=512 heads=num_encoder_attention_heads:16 width=1024
qwen2 ctx=32768 layers=32 heads=32 kv=32 width=4096 window=4096
qwen2_5_omni_dit ctx=32768 layers=22 heads=16 width=1024 head=64
qwen2_5_omni_talker ctx=32768 layers=28 heads=28 kv=4 width=3584 head=128 window=32768
qwen2_5_omni_text ctx=32768 layers=28 heads=28 kv=4 width=3584 window=32768
qwen2_5_omni_thinker text=qwen2_5_omni_text
qwen2_5_vl text=qwen2_5_vl_text
qwen2_5_vl_text ctx=32768 layers=80 heads=64 kv=8 width=8192 window=4096
qwen2_5_vl_vision heads=num_heads:16 width=3584
qwen2_moe ctx=32768 layers=24 heads=16 kv=16 width=2048 window=4096
qwen2_vl text=qwen2_vl_text
qwen2_vl_text ctx=32768 layers=80 heads=64 kv=8 width=8192 window=4096
qwen2_vl_vision heads=num_heads:16 width=3584
qwen3 ctx=32768 layers=32 heads=32 kv=32 width=4096 head=128 window=4096
qwen3_5_moe text=qwen3_5_moe_text
qwen3_5_moe_text ctx=32768 layers=40 heads=16 kv=2 width=2048 head=256
qwen3_5_text ctx=32768 layers=48 heads=16 kv=2 width=2048 head=256
qwen3_moe ctx=32768 layers=24 heads=32 kv=4 width=2048 window=4096
qwen3_next ctx=32768 layers=48 heads=16 kv=2 width=2048 head=256
qwen3_omni_moe_talker_code_predictor ctx=32768 layers=5 heads=16 kv=8 width=1024 head=128 window=-
qwen3_omni_moe_talker_text ctx=32768 layers=20 heads=16 kv=2 width=1024 window=-
qwen3_omni_moe_text ctx=32768 layers=28 heads=28 kv=4 width=2048 window=-
qwen3_omni_moe_thinker text=qwen3_omni_moe_text
qwen3_vl_moe_text ctx=128000 layers=24 heads=16 kv=16 width=2048 head=-
qwen3_vl_moe_vision heads=num_heads:16 width=1152
qwen3_vl_text ctx=128000 layers=32 heads=32 kv=32 width=4096 head=128
qwen3_vl_vision heads=num_heads:16 width=1152
qwen4_exp_text ctx=32768 layers=48 heads=16 kv=2 width=2048 head=256
recurrent_gemma layers=26 heads=10 kv=- width=2560 window=attention_window_size:2048
reformer ctx=4096 heads=12 width=256
rembert ctx=512 layers=32 heads=18 width=1152
roberta ctx=512 layers=12 heads=12 width=768
roberta-prelayernorm ctx=512 layers=12 heads=12 width=768
roc_bert ctx=512 layers=12 heads=12 width=768
roformer ctx=1536 layers=12 heads=12 width=768
rwkv ctx=context_length:1024 layers=32 width=4096
seed_oss ctx=524288 layers=64 heads=80 kv=8 width=4096 head=128
semantic layers=num_layers:12 heads=num_heads:12 width=768
smollm3 ctx=32768 layers=36 heads=16 kv=4 width=2048 window=-
solar_open ctx=131072 layers=48 heads=64 kv=8 width=4096 head=128
spark2_5 ctx=8192 layers=28 heads=8 kv=2 width=2048 head=256 window=512
splinter ctx=512 layers=12 heads=12 width=768
squeezebert ctx=512 layers=12 heads=12 width=768
stablelm ctx=4096 layers=32 heads=32 kv=32 width=2560
starcoder2 ctx=4096 layers=30 heads=24 kv=2 width=3072 window=-
step3_text layers=61 heads=64 width=7168 head=256 maxlen=65536
step3p5 ctx=128000 layers=45 heads=64 width=4096 head=128 window=- maxlen=128000
step3p7 text=step3p5
switch_transformers layers=num_layers:12 heads=num_heads:12 width=d_model:768
t5 layers=num_layers:6 heads=num_heads:8 width=d_model:512 head=d_kv:64
t5_gemma_module ctx=8192 layers=26 heads=8 kv=4 width=2304 head=256 window=4096
t5gemma2_decoder ctx=131072 layers=26 heads=8 kv=4 width=2304 head=256 window=4096
t5gemma2_text ctx=131072 layers=26 heads=8 kv=4 width=2304 head=256 window=4096
table-transformer layers=encoder_layers:6 heads=encoder_attention_heads:8 width=d_model:256
tipsv2 text=tipsv2_text_model
tipsv2_text_model ctx=64 layers=12 heads=12 width=768
tvp ctx=512 layers=12 heads=12 width=768
umt5 layers=num_layers:8 heads=num_heads:6 width=d_model:512 head=d_kv:64
unlimited_language ctx=2048 layers=30 heads=32 kv=32 width=4096
vaultgemma ctx=8192 layers=26 heads=8 kv=4 width=2304 head=256 window=4096
xglm ctx=2048 layers=num_layers:24 heads=attention_heads:16 width=d_model:1024
xlm ctx=512 layers=n_layers:12 heads=n_heads:16 width=emb_dim:2048
xlm-roberta ctx=512 layers=12 heads=12 width=768
xlm-roberta-xl ctx=514 layers=36 heads=32 width=2560
xlnet layers=n_layer:24 heads=n_head:16 width=d_model:1024
xmod ctx=512 layers=12 heads=12 width=768
yoso ctx=4096 layers=12 heads=12 width=768
youtu ctx=131072 layers=32 heads=16 kv=16 width=2048
zamba ctx=4096 layers=76 heads=16 kv=16 width=3712 head=attention_head_dim:
zamba2 ctx=4096 layers=54 heads=32 kv=- width=2560
zaya ctx=32768 layers=80 heads=8 kv=2 width=2048 head=128 window=-
`
