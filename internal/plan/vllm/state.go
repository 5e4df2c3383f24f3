package vllm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/flags"
	"shakedown/internal/plan"
)

// state is one resolution in progress. The embedded settings are those of
// VllmConfig, named section.field; args are the engine arguments that they are
// made of.
type state struct {
	*plan.Settings
	ask  plan.Case
	r    release
	gpu  device
	args *plan.Settings
	cc   map[string]any // --compilation-config, as far as the user gave it

	model *model // what the checkpoint says
	draft *model // the draft model of speculative decoding; nil without one
	spec  *speculation
	quant *quantMethod   // of model.quantization; nil for none
	later map[string]any // what the workers decide: Result.Runtime

	chosen attnChoice // the attention backend

	irPriority string // VllmConfig.kernel_config.ir_op_priority, of rms_norm
}

// newState reads the command line and fills VllmConfig with what it says.
func newState(c plan.Case, r release) (*state, *plan.Refusal) {
	s := &state{ask: c, r: r, gpu: deviceOf(c.GPU), later: map[string]any{}}
	table, _ := flags.Lookup("vllm", known[r].version)
	parsed, refusal := parse(table, r, c.Argv)
	s.args = plan.NewSettings(parsed, c.Env)
	s.cc, _ = s.args.Get("compilation_config").(map[string]any)
	begin := plan.Parsed{Values: map[string]any{}, Asked: map[string]bool{}}
	for _, f := range fields {
		if !f.in(r) {
			continue
		}
		v := f.value
		if f.arg != "" {
			v = asEnum(f.name, s.args.Get(f.arg))
			begin.Asked[f.name] = s.args.Asked(f.arg)
		}
		begin.Values[f.name] = v
	}
	s.Settings = plan.NewSettings(begin, c.Env)
	return s, refusal
}

// asEnum turns what the parser leaves into what the dataclass holds.
func asEnum(name string, v any) any {
	if name != "optimization_level" || v == nil {
		return v
	}
	return "O" + strings.TrimPrefix(fmt.Sprint(v), "O")
}

// effective are the settings of VllmConfig to report.
func (s *state) effective() map[string]any {
	out := make(map[string]any, len(fields))
	for _, f := range fields {
		if !f.in(s.r) || strings.HasPrefix(f.name, "speculative.") && s.spec == nil {
			continue
		}
		out[f.name] = summarised(s.Get(f.name))
	}
	return out
}

// summarised shortens a list of more than 12 numbers to its length, its bounds
// and its sum.
func summarised(v any) any {
	list, ok := v.([]int)
	if !ok {
		return v
	}
	if len(list) <= 12 {
		out := make([]any, len(list))
		for i, n := range list {
			out[i] = n
		}
		return out
	}
	sum := 0
	for _, n := range list {
		sum += n
	}
	return fmt.Sprintf("%d values, %d..%d, sum %d", len(list), slices.Min(list), slices.Max(list), sum)
}

// envBool reads a switch of vllm/envs.py: bool(int(value)).
func (s *state) envBool(name string, otherwise bool) bool {
	v, ok := s.Env(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(strings.TrimSpace(v))
	return err == nil && n != 0
}

// info and warn print a line of that level.
func (s *state) info(format string, args ...any) { s.line('I', format, args) }
func (s *state) warn(format string, args ...any) { s.line('W', format, args) }

func (s *state) line(level byte, format string, args []any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	s.Print(level, format)
}

// once prints a line unless it is already there, as logger.info_once does.
func (s *state) once(level byte, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.ContainsFunc(s.Lines, func(l plan.Line) bool { return l.Text == text }) {
		s.Print(level, text)
	}
}

// Who chooses; the words of explain's ledger.
const (
	byModel       = "model"
	byCheckpoint  = "checkpoint"
	byHardware    = "hardware"
	byCoupling    = "coupling"
	byEnvironment = "environment"
	byDefault     = "default"
)

// because begins a decision: by whom, by which rule, forced by which settings.
// An empty id is that of the step.
func (s *state) because(id, by, rule string, coupled ...string) {
	s.Decide(plan.Decision{ID: id, By: by, Because: rule, Coupled: coupled})
}

// refuse is an exception; the stage is filled in by Resolve.
func refuse(exception, format string, args ...any) error {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	return &plan.Refusal{Message: exception + ": " + format}
}

// invalid is how pydantic reports an exception that a validator or
// __post_init__ of a configuration class raises.
func invalid(class, format string, args ...any) error {
	return refuse("ValidationError", "1 validation error for %s\n  Value error, %s [type=value_error, ...]", class, fmt.Sprintf(format, args...))
}

// failed is how pydantic reports a failed assertion.
func failed(class, format string, args ...any) error {
	return refuse("ValidationError", "1 validation error for %s\n  Assertion failed, %s [type=assertion_error, ...]", class, fmt.Sprintf(format, args...))
}
