package family_test

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/hfconfig"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/oracletest"
)

func read(t *testing.T, config string) (*family.Spec, error) {
	t.Helper()
	o, err := hfconfig.Decode([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return family.Read(o)
}

func mustRead(t *testing.T, config string) *family.Spec {
	t.Helper()
	s, err := read(t, config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPublishedDefaults: what GLM-5's config leaves out, or says only by its
// type, are its published sizes.
func TestPublishedDefaults(t *testing.T) {
	s := mustRead(t, `{"model_type":"glm_moe_dsa","rope_parameters":{"rope_theta":1000000,"rope_type":"default"}}`)
	if len(s.Layers) != 78 || s.Hidden != 6144 || s.Vocab != 154880 || s.Eps != 1e-5 || s.Rope.Theta != 1e6 || s.Rope.Dim != 64 {
		t.Errorf("%+v", s)
	}
	l := s.Layers[3]
	if a := l.MLA; a.Heads != 64 || a.QRank != 2048 || a.KVRank != 512 || a.Nope != 192 || a.V != 256 || a.Scale != 0.0625 || !a.Interleave || *a.Indexer != (family.Indexer{Heads: 32, Dim: 128, TopK: 2048, Interleave: true}) {
		t.Errorf("attention %+v, indexer %+v", *a, a.Indexer)
	}
	if s.Layers[2].Dense == nil || l.MoE == nil || l.MoE.Experts != 256 || l.MoE.Router.Scale != 2.5 || l.MoE.Shared != 2048 {
		t.Errorf("layer 3: %+v", l.MoE)
	}
}

// TestPartialRotation: GLM-4.5 rotates half of each head; the share is written in
// either place, and one that makes no sense is named.
func TestPartialRotation(t *testing.T) {
	config := oracletest.Configs["glm4_moe"]
	for share, want := range map[any]int{nil: 16, 0.25: 8, 1: 32} {
		old := oracletest.Config(t, config, map[string]any{"partial_rotary_factor": share})
		inRope := oracletest.Config(t, config, map[string]any{"partial_rotary_factor": nil, "rope_theta": nil,
			"rope_parameters": map[string]any{"rope_theta": 1e6, "rope_type": "default", "partial_rotary_factor": share}})
		for _, c := range []string{old, inRope} {
			if s := mustRead(t, c); s.Rope.Dim != want || s.Rope.Theta != 1e6 {
				t.Errorf("share %v: %+v", share, s.Rope)
			}
		}
	}
	for _, share := range []float64{0, 0.01, 1.5} {
		if _, err := read(t, oracletest.Config(t, config, map[string]any{"partial_rotary_factor": share})); err == nil || !strings.Contains(err.Error(), "partial_rotary_factor") {
			t.Errorf("share %v: %v", share, err)
		}
	}
	s := mustRead(t, config)
	if l := s.Layers[1]; l.GQA == nil || !l.GQA.QKNorm || !l.GQA.QKVBias || l.GQA.OBias || l.MoE == nil || l.MoE.Shared != 32 || len(s.MTP) != 0 || s.Layers[0].Dense == nil {
		t.Errorf("%+v", s)
	}
}

// TestExpertsUnderAnotherName: Transformers 5 writes the number of Qwen3-MoE's
// experts under another name.
func TestExpertsUnderAnotherName(t *testing.T) {
	s := mustRead(t, oracletest.Config(t, oracletest.Configs["qwen3_moe"], map[string]any{"num_experts": nil, "num_local_experts": 6}))
	if s.Layers[0].MoE.Experts != 6 {
		t.Errorf("%d experts", s.Layers[0].MoE.Experts)
	}
}

// TestIndexShare: the layers of GLM-5.2 that have an indexer of their own, by
// frequency and offset: 0, 1, 2, 6, 10, ... 74.
func TestIndexShare(t *testing.T) {
	s := mustRead(t, `{"model_type":"glm_moe_dsa","index_topk_freq":4,"index_skip_topk_offset":3,"index_topk_pattern":null,"num_nextn_predict_layers":1,"head_dim":192}`)
	var full []int
	for i, l := range s.Layers {
		if l.MLA.Indexer != nil {
			full = append(full, i)
		} else if !l.MLA.Shared {
			t.Errorf("layer %d neither has an indexer nor shares one", i)
		}
	}
	want := []int{0, 1}
	for i := 2; i < 78; i += 4 {
		want = append(want, i)
	}
	if !slices.Equal(full, want) {
		t.Errorf("full layers %v, want %v", full, want)
	}
	if len(s.MTP) != 1 || s.MTP[0].MLA.Indexer == nil || len(s.All()) != 79 {
		t.Error("the MTP layer has an indexer of its own")
	}
	byPattern := mustRead(t, `{"model_type":"glm_moe_dsa","num_hidden_layers":4,"index_topk_pattern":"FSFS"}`)
	byTypes := mustRead(t, `{"model_type":"glm_moe_dsa","num_hidden_layers":4,"indexer_types":["full","shared","full","shared"]}`)
	for i := range 4 {
		if want := i%2 == 0; (byPattern.Layers[i].MLA.Indexer != nil) != want || (byTypes.Layers[i].MLA.Indexer != nil) != want {
			t.Errorf("layer %d: an indexer is wanted: %v", i, want)
		}
	}
}

// TestRopeVectors compares with numbers that transformers 5.24 gives for
// published configurations.
func TestRopeVectors(t *testing.T) {
	for _, tc := range []struct {
		name, config string
		at           int
		want         float64 // the angle per position
		factor       float64
	}{
		{"llama-3.2-1b", `{"model_type":"llama","head_dim":64,"rope_theta":500000.0,"rope_scaling":{"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"},
			"vocab_size":8,"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":8}`, 31, math.Pow(500000, -62.0/64) / 32, 1},
		{"linear", `{"model_type":"llama","head_dim":64,"rope_scaling":{"factor":4.0,"type":"linear"},"vocab_size":8,"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":8}`, 0, 0.25, 1},
		{"deepseek-v3 with another mscale_all_dim", `{"model_type":"deepseek_v3","rope_theta":10000,"rope_scaling":{"type":"yarn","factor":40,"original_max_position_embeddings":4096,"beta_fast":32,"beta_slow":1,"mscale":1.0,"mscale_all_dim":0.707}}`, 0, 1, 1.0857263992561355},
		{"yarn without mscale", `{"model_type":"deepseek_v3","rope_theta":10000,"rope_scaling":{"type":"yarn","factor":40,"original_max_position_embeddings":4096}}`, 31, math.Pow(10000, -62.0/64) / 40, 1.3688879454113936},
	} {
		s := mustRead(t, tc.config)
		inv, factor := s.Rope.InvFreq()
		if d := math.Abs(float64(inv[tc.at])/tc.want - 1); d > 1e-6 {
			t.Errorf("%s: frequency %d is %v, want %v", tc.name, tc.at, inv[tc.at], tc.want)
		}
		if d := math.Abs(float64(factor) - tc.factor); d > 1e-7 {
			t.Errorf("%s: factor %v, want %v", tc.name, factor, tc.factor)
		}
	}
}

// TestLatentScale compares softmax scales with those of transformers 5.24.
func TestLatentScale(t *testing.T) {
	const kimi = `{"model_type":"kimi_k2","rope_theta":50000.0,"rope_scaling":{"beta_fast":1.0,"beta_slow":1.0,"factor":32.0,"mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":4096,"type":"yarn"}}`
	for config, want := range map[string]float64{
		kimi: 0.13086079996295005,
		strings.Replace(kimi, `"mscale_all_dim":1.0,`, "", 1): 0.07216878364870322,
		`{"model_type":"deepseek_v3"}`:                        0.07216878364870322,
	} {
		if got := mustRead(t, config).Layers[0].MLA.Scale; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: scale %v, want %v", config, got, want)
		}
	}
}

// TestBothSpellingsOfRope: Transformers 5 and older files mean the same.
func TestBothSpellingsOfRope(t *testing.T) {
	old := mustRead(t, `{"model_type":"glm4_moe_lite","rope_theta":1000000}`)
	now := mustRead(t, `{"model_type":"glm4_moe_lite","rope_parameters":{"rope_theta":1000000,"rope_type":"default"}}`)
	if !cmp.Equal(old.Rope, now.Rope) || old.Rope.Theta != 1e6 {
		t.Errorf("%+v and %+v", old.Rope, now.Rope)
	}
}

// TestWindows: which layers of Qwen see a window only.
func TestWindows(t *testing.T) {
	base := map[string]any{"use_sliding_window": true, "sliding_window": 7, "max_window_layers": 1}
	for _, tc := range []struct {
		change map[string]any
		want   []int
	}{
		{nil, []int{0, 7}},
		{map[string]any{"layer_types": []string{"sliding_attention", "full_attention"}}, []int{7, 0}},
		{map[string]any{"use_sliding_window": false}, []int{0, 0}},
		{map[string]any{"sliding_window": nil}, []int{0, 0}},
	} {
		fields := maps.Clone(base)
		maps.Copy(fields, tc.change)
		config := oracletest.Config(t, oracletest.Configs["qwen2"], fields)
		if fields["sliding_window"] == nil {
			config = strings.Replace(config, "{", `{"sliding_window":null,`, 1)
		}
		s := mustRead(t, config)
		if got := []int{s.Layers[0].GQA.Window, s.Layers[1].GQA.Window}; !slices.Equal(got, tc.want) {
			t.Errorf("%v: windows %v, want %v", tc.change, got, tc.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	llama := oracletest.Configs["llama"]
	glm := oracletest.Configs["glm_moe_dsa"]
	for _, tc := range []struct {
		base   string
		change map[string]any
		want   string
	}{
		{llama, map[string]any{"hidden_size": nil}, "hidden_size is missing"},
		{llama, map[string]any{"hidden_size": "64"}, "hidden_size is 64: a whole number is expected"},
		{llama, map[string]any{"num_hidden_layers": -3}, "num_hidden_layers is -3: 1 to 1024"},
		{llama, map[string]any{"vocab_size": 1 << 40}, "vocab_size is 1099511627776"},
		{llama, map[string]any{"num_key_value_heads": 3}, "num_attention_heads 4 is no multiple of num_key_value_heads 3"},
		{llama, map[string]any{"hidden_act": "gelu"}, "hidden_act gelu is not supported: silu is"},
		{llama, map[string]any{"rms_norm_eps": 0}, "rms_norm_eps is 0: a number above 0"},
		{llama, map[string]any{"rope_scaling": map[string]any{"rope_type": "longrope"}}, "rope_parameters: rope_type longrope is not supported: default, linear, llama3, yarn is"},
		{llama, map[string]any{"rope_scaling": map[string]any{"rope_type": "llama3", "factor": 8}}, "rope_parameters: low_freq_factor is 0"},
		{llama, map[string]any{"head_dim": 15}, "15 rotated elements"},
		{glm, map[string]any{"indexer_types": []string{"shared", "full", "full", "full"}}, "the first layer has no indexer"},
		{glm, map[string]any{"indexer_types": []string{"full"}}, "indexer_types has 1 entries for 4 layers"},
		{glm, map[string]any{"index_topk_pattern": "FFXF"}, `index_topk_pattern has "X"`},
		{glm, map[string]any{"q_lora_rank": nil, "qk_rope_head_dim": 32}, "qk_rope_head_dim 32 is wider than index_head_dim 16"},
		{glm, map[string]any{"scoring_func": "softmax"}, "scoring_func softmax is not supported"},
		{glm, map[string]any{"n_group": 3}, "n_routed_experts 8 is no multiple of n_group 3"},
		{glm, map[string]any{"num_experts_per_tok": 9}, "num_experts_per_tok 9 is more than the 8 experts"},
		{glm, map[string]any{"n_group": 4, "topk_group": 1, "num_experts_per_tok": 3}, "num_experts_per_tok 3 is more than the experts of 1 groups"},
	} {
		_, err := read(t, oracletest.Config(t, tc.base, tc.change))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: error %v, want %q", tc.change, err, tc.want)
		}
	}
	// All that is wrong is told at once.
	_, err := read(t, `{"model_type":"llama","hidden_act":"gelu"}`)
	if err == nil || !strings.Contains(err.Error(), "hidden_act") || !strings.Contains(err.Error(), "vocab_size is missing") || !strings.Contains(err.Error(), "intermediate_size is missing") {
		t.Errorf("error %v", err)
	}
}

func TestUnsupportedType(t *testing.T) {
	_, err := read(t, `{"model_type":"mamba"}`)
	var unsupported *family.UnsupportedError
	if !errors.As(err, &unsupported) || unsupported.Type != "mamba" || !strings.Contains(err.Error(), strings.Join(family.Supported(), ", ")) {
		t.Errorf("error %v", err)
	}
	if _, err := read(t, `{}`); err == nil || !strings.Contains(err.Error(), "model_type is missing") {
		t.Errorf("error %v", err)
	}
	if d := slices.Compare(family.Supported(), slices.Sorted(maps.Keys(oracletest.Configs))); d != 0 {
		t.Errorf("the tests cover %v, supported are %v", slices.Sorted(maps.Keys(oracletest.Configs)), family.Supported())
	}
}

func FuzzRead(f *testing.F) {
	for _, config := range oracletest.Configs {
		f.Add([]byte(config))
	}
	f.Add([]byte(`{"model_type":"glm_moe_dsa","num_hidden_layers":1024,"indexer_types":[1],"mlp_layer_types":null}`))
	f.Add([]byte(`{"model_type":"qwen2","use_sliding_window":true,"sliding_window":-1,"rope_parameters":{"rope_type":7}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := hfconfig.Decode(data)
		if err != nil {
			return
		}
		s, err := family.Read(o)
		if err != nil {
			return
		}
		for i, l := range s.All() {
			if (l.GQA == nil) == (l.MLA == nil) || (l.Dense == nil) == (l.MoE == nil) {
				t.Errorf("layer %d: %+v", i, l)
			}
		}
		if inv, _ := s.Rope.InvFreq(); 2*len(inv) != s.Rope.Dim {
			t.Errorf("%d frequencies for %d elements", len(inv), s.Rope.Dim)
		}
	})
}
