// Package plan says what an inference engine will choose before it is started:
// from its version, the launch command, the model's config.json and the GPUs it
// resolves every setting as the engine's own start-up code does, names the rule
// behind each choice, and says what will be refused.
//
// An engine's resolver is a list of steps in the order in which the engine
// itself decides (plan/sglang, plan/vllm). Resolving is a pure function of a
// Case: no files, no devices, no clock.
package plan

import (
	"fmt"

	"shakedown/internal/flags"
	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
)

// Case is one question to a resolver. It is not changed by resolving.
type Case struct {
	Engine  string            // "sglang", "vllm"
	Version string            // as asked for: "0.5.9"
	Deps    map[string]string // versions of libraries that decide with: "transformers": "5.2.0"
	GPU     hardware.GPU
	Model   *hfconfig.Model            // the model of the launch
	Drafts  map[string]*hfconfig.Model // further models that flags name, by the value as written
	Argv    []string                   // options of the launch, without the model
	Env     map[string]string
}

// Stages at which an engine can refuse a launch. SGLang knows the first five,
// vLLM StageParse, StageConfig and StageAttention.
const (
	StageParse       = "parse"        // the argument parser
	StageResolve     = "resolve"      // ServerArgs.__post_init__
	StageCheck       = "check"        // ServerArgs.check_server_args
	StageModelConfig = "model_config" // ModelConfig, in the scheduler process
	StageModelRunner = "model_runner" // the settings part of ModelRunner
	StageConfig      = "create_engine_config"
	StageAttention   = "attention" // the choice of the attention backend
)

// Refusal is how an engine ends a launch that it will not run. It is an error,
// so that a step can return it.
type Refusal struct {
	Stage   string // one of the Stage constants
	Message string // as the engine prints it, the Python exception's name first: "ValueError: ..."
	Step    string // id of the step that refuses
}

func (r *Refusal) Error() string { return fmt.Sprintf("refused (%s): %s", r.Stage, r.Message) }

// Line is one line that the engine prints about its choices.
type Line struct {
	Level byte   // 'I', 'W' or 'E'
	Text  string // without prefix and time
	Later bool   // printed by the scheduler process, not by the launcher
}

// Choice is one setting changed by one step.
type Choice struct {
	ID      string   // stable id of the choice; the same as that of explain's log line where the engine prints one
	Setting string   // the engine's own name
	From    any      // value before the step; nil: None
	To      any      // value behind it
	By      string   // who chose it: model, checkpoint, hardware, coupling, environment, default
	Coupled []string // settings that forced this one
	Because string   // the rule in plain words, with this case's values
	Source  string   // file and function in the engine's source
	Line    string   // what the engine prints for it; empty: it chooses silently
}

// Result is the answer of a resolver. Values are what Python would hold: nil,
// bool, int, float64, string, []any, map[string]any.
type Result struct {
	Version   string // release whose behaviour was used
	Refusal   *Refusal
	Effective map[string]any // settings in effect, by the engine's own names; as far as it came when refused
	Runtime   map[string]any // what is decided later, by the scheduler and model runner
	Choices   []Choice       // in the order in which they are made
	Lines     []Line
	EnvSet    map[string]string // variables that the engine sets for itself
}

// Step is one decision of an engine, S the state it works on.
type Step[S any] struct {
	ID       string      // stable id
	Versions flags.Range // releases that have this step
	Source   string      // file and function in the engine's source, with the release it was read in
	Run      func(S) error
}
