package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"shakedown/internal/finding"
	"shakedown/internal/redact"
	"shakedown/internal/term"
)

// inspection is a stream with every message that inspect sends.
func inspection() []finding.Message {
	return []finding.Message{
		&finding.ConfigMsg{SchemaVersion: "1", ToolVersion: "test"},
		&finding.CheckpointMsg{
			Path: "/models/GLM-5-NVFP4/", Format: "safetensors", Family: "glm_moe_dsa", Architecture: "GlmMoeDsaForCausalLM", Files: 47, Bytes: 465e9,
			Tensors: 232670, Parameters: 753.3e9, Layers: 78, DraftLayers: 1, ContextLength: 202752, Quantisation: "modelopt, NVFP4",
			Groups: []finding.WeightGroup{{Name: "routed experts", Format: "nvfp4", Modules: 57600, Parameters: 724.8e9, Bytes: 407.7e9}, {Name: "router", Format: "plain", Modules: 75}},
			KV:     []finding.KVLayout{{Name: "bf16", BytesPerToken: 100152, How: "78 layers x (512 latent + 64 rotary values) x 2 bytes"}},
			Engine: "sglang", EngineVersion: "0.5.9", Hardware: "8x NVIDIA RTX PRO 6000", Parallel: "tp 8", Checks: 68, Notes: []string{"expected.safetensors was left out"},
		},
		&finding.TensorMsg{Name: "model.norm.weight", File: "model-00001.safetensors", DType: "BF16", Shape: []int{6144}, Bytes: 12288, Storage: "plain",
			Values: &finding.ValueStats{Count: 6144, NaN: 2, FirstBad: 17, Min: -1, Max: 2.5, RMS: 0.5}},
		&finding.TensorMsg{Name: "model.x.weight_scale_2", File: "model-00001.safetensors", DType: "F32", Bytes: 4},
		&finding.FindingMsg{Rank: 1, ID: "CKPT-FILE-001", Cause: "checkpoint-incomplete", Severity: finding.Error, Confidence: finding.Proven, Role: "cause",
			Title: "A weight file is missing: model-00002.safetensors", Why: "Some engines start with uninitialised weights.", Subject: &finding.Subject{File: "model-00002.safetensors"},
			Evidence: []finding.Evidence{{Kind: "tensor", File: "model-00002.safetensors", Text: "no such file"}, {Kind: "tensor", Text: "second"}, {Kind: "tensor", Text: "third"}},
			Remedies: []finding.Remedy{{Title: "download it"}}},
		&finding.FindingMsg{Rank: 2, ID: "CKPT-ENG-001", Cause: "numerics-nan", Severity: finding.Warning, Confidence: finding.Likely, Role: "cause",
			Title: "DeepGEMM is on", Why: "Scales lose their mantissa.", Remedies: []finding.Remedy{{Title: "switch it off", Env: map[string]string{"SGLANG_ENABLE_JIT_DEEPGEMM": "0"}}}},
		&finding.FindingMsg{Rank: 3, ID: "CKPT-TOK-004", Cause: "checkpoint-incomplete", Severity: finding.Info, Confidence: finding.Proven, Role: "remark", Title: "There is no tokenizer", Why: "A server needs one."},
		&finding.MemoryMsg{Total: 95.59, Items: []finding.MemoryItem{{Name: "weights", Size: 55.62, How: "415.3 GiB of tensors"}}, Left: 17.1, KVTokens: 382912, BytesPerToken: 55224, Fits: true, Text: "fits", Notes: []string{"a note"}},
		&finding.EndMsg{Findings: 3, ExitCode: 3},
	}
}

func TestInspectText(t *testing.T) {
	got := render(t, NewInspectText, Options{Width: 80}, inspection())
	for _, want := range []string{
		"BROKEN, 1 error, 1 warning   GLM-5-NVFP4  glm_moe_dsa  465.0 GB\n",
		"MODEL    GlmMoeDsaForCausalLM, 753.3 B parameters, 78 layers and 1 for",
		"judged for sglang 0.5.9, 8x NVIDIA RTX PRO 6000, tp 8",
		"WEIGHTS  routed experts         nvfp4       57600 modules     724.8 B   407.7 GB\n",
		"KV CACHE bf16        100.2 kB per token",
		"TENSORS  model.norm.weight",
		"2 NaN, 0 infinite, first at 17;",
		"F32, scalar, 4 B",
		"BROKEN   1  A weight file is missing: model-00002.safetensors",
		"| and 1 more: --full",
		"do: download it",
		"BREAKS   2  DeepGEMM is on (likely)",
		"do: switch it off, SGLANG_ENABLE_JIT_DEEPGEMM=0",
		"MEMORY   one GPU: fits",
		"left              17.10 GiB",
		"REMARKS  There is no tokenizer",
		"CHECKED  68 checks; values were not read",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	for _, l := range strings.Split(got, "\n") {
		if term.Width(l) > 80 {
			t.Errorf("wider than the page: %q", l)
		}
	}
	if full := render(t, NewInspectText, Options{Width: 80, Full: true}, inspection()); !strings.Contains(full, "| third") || !strings.Contains(full, "A server needs one.") {
		t.Errorf("full:\n%s", full)
	}
	if cut := render(t, NewInspectText, Options{}, inspection()[:2]); !strings.Contains(cut, "incomplete") || !strings.Contains(cut, "SOUND as far as headers tell") {
		t.Errorf("cut:\n%s", cut)
	}
}

// TestInspectTextIsSafe: names from a hostile file reach no terminal, and redaction
// reaches every part.
func TestInspectTextIsSafe(t *testing.T) {
	ms := inspection()
	ms[1].(*finding.CheckpointMsg).Notes = []string{"\x1b[2Jgone"}
	ms[4].(*finding.FindingMsg).Title = "\x1b]0;x\x07 token hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"
	got := render(t, NewInspectText, Options{Redact: redact.New()}, ms)
	if strings.ContainsAny(got, "\x1b\x07") || strings.Contains(got, "hf_abc") {
		t.Errorf("%q", got)
	}
}

func TestInspectionMatchesSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range inspection() {
		line, err := finding.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%v\n%s", err, line)
		}
	}
}
