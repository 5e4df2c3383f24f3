package report

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"shakedown/internal/finding"
)

const schemaFile = "../../schema/explain.schema.json"

// TestStreamsMatchSchema keeps the published schema true to what is written.
func TestStreamsMatchSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(runs)
	for name, s := range streams {
		all[name] = s.messages
	}
	for name, messages := range all {
		for i, m := range messages {
			line, err := finding.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s, message %d: %v\n%s", name, i, err, line)
			}
		}
	}
	for _, wrong := range []string{
		`{"no":"message"}`,
		`{"message":"end","launches":1}`,
		`{"message":"symptom","launch":1,"title":"x","evidence":null}`,
		`{"message":"unexplained","launch":1,"count":-1,"line":1,"text":""}`,
		`{"message":"probe","id":"x","title":"x","verdict":"maybe","text":"","essential":false,"signs":[],"exchanges":[],"evidence":[],"seconds":0}`,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(wrong))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(v) == nil {
			t.Errorf("the schema accepts %s", wrong)
		}
	}
	unknown, _ := jsonschema.UnmarshalJSON(strings.NewReader(`{"message":"from-the-future","x":[]}`))
	if err := schema.Validate(unknown); err != nil {
		t.Errorf("the schema refuses an unknown message: %v", err)
	}
}

// TestSchemaIsComplete compares the fields that the schema names with those of
// the Go types.
func TestSchemaIsComplete(t *testing.T) {
	b, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{
		"config": finding.ConfigMsg{}, "launch": finding.LaunchMsg{}, "symptom": finding.SymptomMsg{}, "finding": finding.FindingMsg{},
		"not-it": finding.NotItMsg{}, "setting": finding.SettingMsg{}, "unexplained": finding.UnexplainedMsg{}, "drift": finding.DriftMsg{},
		"error": finding.ErrorMsg{}, "end": finding.EndMsg{}, "evidence": finding.Evidence{}, "change": finding.Change{}, "remedy": finding.Remedy{},
		"subject": finding.Subject{}, "milestone": finding.Milestone{}, "rank_state": finding.RankState{}, "fact": finding.FactEntry{},
		"pair": finding.Pair{}, "asked": finding.Asked{}, "comparison": finding.ComparisonMsg{}, "side": finding.Side{},
		"difference": finding.DifferenceMsg{}, "refused": finding.RefusedMsg{}, "ignored": finding.IgnoredMsg{},
		"memory": finding.MemoryMsg{}, "memory_item": finding.MemoryItem{},
		"checkpoint": finding.CheckpointMsg{}, "weight_group": finding.WeightGroup{}, "kv_layout": finding.KVLayout{},
		"tensor": finding.TensorMsg{}, "value_stats": finding.ValueStats{},
		"eval": finding.EvalMsg{}, "trace": finding.TraceMsg{}, "trace-layer": finding.TraceLayerMsg{}, "place": finding.Place{}, "op_stat": finding.OpStat{},
		"endpoint": finding.EndpointMsg{}, "traffic": finding.Traffic{}, "probe": finding.ProbeMsg{}, "exchange": finding.ExchangeMsg{},
		"conclusion": finding.ConclusionMsg{}, "baseline": finding.BaselineMsg{}, "changed": finding.Changed{},
	} {
		var inGo, inSchema []string
		for f := range fields(reflect.TypeOf(v)) {
			inGo = append(inGo, f)
		}
		for f := range doc.Defs[name].Properties {
			inSchema = append(inSchema, f)
		}
		slices.Sort(inGo)
		slices.Sort(inSchema)
		if diff := cmp.Diff(inGo, inSchema); diff != "" {
			t.Errorf("%s (-Go +schema):\n%s", name, diff)
		}
	}
}

// fields are the JSON names of a struct's fields.
func fields(t reflect.Type) map[string]bool {
	out := map[string]bool{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out[name] = true
	}
	return out
}
