package clean_test

import (
	"strings"
	"testing"

	"shakedown/internal/clean"
	"shakedown/internal/finding"
)

// TestMessage: a key goes out of every string but those of a command, whose
// secrets are references already.
func TestMessage(t *testing.T) {
	const token = "hf_abcdefghijklmnopqrstuvwxyz012345"
	m := &finding.FindingMsg{
		Title:    "login with " + token,
		Evidence: []finding.Evidence{{Text: "HF_TOKEN=" + token}},
		Remedies: []finding.Remedy{{Command: []string{"HF_TOKEN=\"$HF_TOKEN\""}, Text: "no key here"}},
	}
	c := clean.NewSecrets()
	for range 2 {
		c.Message(m)
		if strings.Contains(m.Title+m.Evidence[0].Text, token) {
			t.Fatalf("%+v", m)
		}
	}
	if r := m.Remedies[0]; r.Command[0] != `HF_TOKEN="$HF_TOKEN"` || r.Text != "no key here" {
		t.Errorf("%+v", r)
	}
}
