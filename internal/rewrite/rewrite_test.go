package rewrite_test

import (
	"slices"
	"strings"
	"testing"

	"shakedown/internal/command"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/ledger"
	"shakedown/internal/rewrite"
)

func rewriter(t *testing.T, line string, entries ...*ledger.Entry) *rewrite.Rewriter {
	t.Helper()
	cmd, ok := command.ParseLine(line)
	if !ok {
		t.Fatalf("no command: %s", line)
	}
	table, match := flags.Lookup("sglang", "0.5.9")
	return &rewrite.Rewriter{Command: &cmd, Book: ledger.Planned(entries, table, match), Engine: "sglang", Version: "0.5.9"}
}

func set(name, to string) finding.Change { return finding.Change{Kind: "flag", Name: name, To: &to} }

// TestComplete: a remedy becomes the whole command, without what the release
// refuses and what is in force already.
func TestComplete(t *testing.T) {
	w := rewriter(t, "python3 -m sglang.launch_server --model-path /models/orca --kv-cache-dtype fp8_e4m3",
		&ledger.Entry{Name: "attention_backend", Effective: "flashinfer", Known: true})
	r := finding.Remedy{Changes: []finding.Change{
		set("--kv-cache-dtype", "bf16"), set("--attention-backend", "flashinfer"), set("--no-such-flag", "1"), {Kind: "env", Name: "A", To: new(string)},
	}}
	if !w.Complete(&r) {
		t.Fatal("dropped")
	}
	want := []string{"python3", "-m", "sglang.launch_server", "--model-path", "/models/orca", "--kv-cache-dtype", "bf16"}
	if !slices.Equal(r.Command, want) || len(r.Changes) != 2 || *r.Changes[0].From != "fp8_e4m3" {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.Text, "--no-such-flag left out: ") || !strings.HasPrefix(r.Script, "A='' ") && !strings.HasPrefix(r.Script, "A= ") {
		t.Errorf("%q, %q", r.Text, r.Script)
	}
}

// TestFillDrops: a remedy of which nothing is left is none.
func TestFillDrops(t *testing.T) {
	w := rewriter(t, "python3 -m sglang.launch_server --model-path /models/orca")
	f := &finding.FindingMsg{Remedies: []finding.Remedy{
		{Title: "refused", Changes: []finding.Change{set("--no-such-flag", "1")}},
		{Title: "not asked", Changes: []finding.Change{{Kind: "flag", Name: "--page-size"}}},
		{Title: "words", Text: "buy more memory"},
	}}
	w.Fill(f)
	if len(f.Remedies) != 1 || f.Remedies[0].Title != "words" {
		t.Errorf("%+v", f.Remedies)
	}
}
