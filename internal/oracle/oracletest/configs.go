package oracletest

// Tiny models of every family. Widths are small; those of LatentReal are the
// real ones of latent attention, so that records of KV caches have their real
// sizes.
var Configs = map[string]string{
	"llama": `{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,
		"intermediate_size":96,"vocab_size":64,"rms_norm_eps":1e-5,"max_position_embeddings":512,"rope_theta":10000.0,
		"rope_scaling":{"rope_type":"llama3","factor":4.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":32}}`,
	"mistral": `{"model_type":"mistral","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
		"intermediate_size":96,"vocab_size":64,"rms_norm_eps":1e-5,"sliding_window":5}`,
	"qwen2": `{"model_type":"qwen2","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
		"intermediate_size":96,"vocab_size":64,"tie_word_embeddings":true}`,
	"qwen3": `{"model_type":"qwen3","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":32,
		"intermediate_size":96,"vocab_size":64}`,
	"qwen3_moe": `{"model_type":"qwen3_moe","hidden_size":64,"num_hidden_layers":3,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":32,
		"intermediate_size":96,"moe_intermediate_size":32,"num_experts":6,"num_experts_per_tok":2,"norm_topk_prob":true,"mlp_only_layers":[1],"vocab_size":64}`,
	"deepseek_v3": `{"model_type":"deepseek_v3","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":2,"q_lora_rank":48,"kv_lora_rank":32,
		"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"intermediate_size":96,"moe_intermediate_size":32,"n_routed_experts":8,
		"num_experts_per_tok":3,"n_shared_experts":1,"n_group":4,"topk_group":2,"first_k_dense_replace":1,"vocab_size":64,"max_position_embeddings":512,
		"rope_scaling":{"type":"yarn","factor":8,"original_max_position_embeddings":32,"beta_fast":32,"beta_slow":1,"mscale":1.0,"mscale_all_dim":0.707}}`,
	"deepseek_v32": `{"model_type":"deepseek_v32","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":2,"q_lora_rank":48,"kv_lora_rank":32,
		"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"intermediate_size":96,"moe_intermediate_size":32,"n_routed_experts":8,
		"num_experts_per_tok":2,"n_shared_experts":1,"n_group":1,"topk_group":1,"first_k_dense_replace":1,"vocab_size":64,
		"index_n_heads":4,"index_head_dim":16,"index_topk":6}`,
	"kimi_k2": `{"model_type":"kimi_k2","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":2,"q_lora_rank":null,"kv_lora_rank":32,
		"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"intermediate_size":96,"moe_intermediate_size":32,"n_routed_experts":6,
		"num_experts_per_tok":2,"n_shared_experts":2,"n_group":1,"topk_group":1,"first_k_dense_replace":1,"routed_scaling_factor":2.827,"vocab_size":64}`,
	"glm4_moe": `{"model_type":"glm4_moe","hidden_size":64,"num_hidden_layers":3,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":32,
		"use_qk_norm":true,"attention_bias":true,"partial_rotary_factor":0.5,"rope_theta":1000000,"intermediate_size":96,"moe_intermediate_size":32,
		"n_routed_experts":8,"num_experts_per_tok":2,"n_shared_experts":1,"first_k_dense_replace":1,"routed_scaling_factor":2.5,"num_nextn_predict_layers":1,"vocab_size":64}`,
	"glm4_moe_lite": `{"model_type":"glm4_moe_lite","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":2,"q_lora_rank":48,"kv_lora_rank":32,
		"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":24,"intermediate_size":96,"moe_intermediate_size":32,"n_routed_experts":4,
		"num_experts_per_tok":2,"n_shared_experts":1,"first_k_dense_replace":1,"vocab_size":64,"rope_parameters":{"rope_theta":1000000,"rope_type":"default"}}`,
	"glm_moe_dsa": `{"model_type":"glm_moe_dsa","hidden_size":64,"num_hidden_layers":4,"num_attention_heads":2,"q_lora_rank":48,"kv_lora_rank":32,
		"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"head_dim":192,"intermediate_size":96,"moe_intermediate_size":32,"n_routed_experts":8,
		"num_experts_per_tok":2,"n_shared_experts":1,"first_k_dense_replace":1,"vocab_size":64,"index_n_heads":4,"index_head_dim":16,"index_topk":6,
		"index_topk_freq":2,"index_skip_topk_offset":2,"num_nextn_predict_layers":1,"rope_parameters":{"rope_theta":1000000,"rope_type":"default"}}`,
}

// LatentReal is glm_moe_dsa with the widths of latents, rotated keys and indexer
// keys that KV records are made for, and matrices that fill blocks of 128.
const LatentReal = `{"model_type":"glm_moe_dsa","hidden_size":128,"num_hidden_layers":2,"num_attention_heads":2,"q_lora_rank":128,"kv_lora_rank":512,
	"qk_nope_head_dim":64,"qk_rope_head_dim":64,"v_head_dim":64,"intermediate_size":128,"moe_intermediate_size":128,"n_routed_experts":4,
	"num_experts_per_tok":2,"n_shared_experts":1,"first_k_dense_replace":1,"vocab_size":64,"index_n_heads":2,"index_head_dim":128,"index_topk":32,
	"rope_parameters":{"rope_theta":1000000,"rope_type":"default"}}`
