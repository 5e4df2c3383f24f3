package explain_test

import (
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"shakedown/internal/explain"
)

// TestBuiltinRules runs the fixtures of every built-in rule, by area.
func TestBuiltinRules(t *testing.T) {
	results, err := explain.TestRules(t.Context(), os.DirFS("../knowledge/rules"))
	if err != nil {
		t.Fatal(err)
	}
	areas := make(map[string][]explain.RuleResult)
	for _, r := range results {
		area, _, _ := strings.Cut(r.File, "/")
		areas[area] = append(areas[area], r)
	}
	if len(areas) < 10 {
		t.Fatalf("only %d areas of rules", len(areas))
	}
	for area, list := range areas {
		t.Run(area, func(t *testing.T) {
			for _, r := range list {
				if r.Problem != "" {
					t.Errorf("%s: %s: %s", r.Rule, r.File, r.Problem)
				}
			}
		})
	}
}

// TestRules: a fixture does what its name says, or its problem is told.
func TestRules(t *testing.T) {
	hit, miss := sglStart+orcaNeeds+sglSigquit, sglStart+sglSigquit
	earlier := strings.Replace(orcaRule, "lines: [{anchor: the orca kernel needs}]", "lines: [{anchor: a whale was sighted}]", 1)
	earlier = strings.Replace(earlier, "USR-ORCA-001", "USR-WHALE-001", 1)
	node := "$ python3 -m sglang.launch_server --model-path /m --tp 16 --nnodes 2 --node-rank "
	for _, tc := range []struct {
		name  string
		files map[string]string // in the folder of the rule
		want  map[string]string // problems by file
	}{
		{"good", map[string]string{"hit.log": hit, "hit-2.log": hit, "miss.log": miss, "notes.txt": "x"}, map[string]string{"hit.log": "", "hit-2.log": "", "miss.log": ""}},
		{"a hit that is none", map[string]string{"hit.log": miss, "miss.log": miss}, map[string]string{"hit.log": "the rule does not apply; found: [failed] GEN-UNCLEAR", "miss.log": ""}},
		{"a miss that hits", map[string]string{"hit.log": hit, "miss.log": hit}, map[string]string{"hit.log": "", "miss.log": "the rule applies and should not"}},
		{"no launch", map[string]string{"hit.log": "Hello.\n", "miss.log": "Hello.\n"}, map[string]string{"hit.log": "the rule does not apply; found: no launch", "miss.log": ""}},
		{"dropped on a healthy launch", map[string]string{"hit.log": sglStart + orcaNeeds + sglReady, "miss.log": miss}, map[string]string{"hit.log": "the rule applies and is dropped; found: [ok]", "miss.log": ""}},
		{"not the root", map[string]string{"hit.log": sglStart + strange + orcaNeeds, "miss.log": miss}, map[string]string{"hit.log": "the rule is not the root cause; found: [failed] USR-WHALE-001 USR-ORCA-001", "miss.log": ""}},
		{"not the root, and need not be", map[string]string{"hit-also.log": sglStart + strange + orcaNeeds, "miss.log": miss}, map[string]string{"hit-also.log": "", "miss.log": ""}},
		{"another name", map[string]string{"hit.log": hit, "miss.log": miss, "try.log": hit}, map[string]string{"hit.log": "", "miss.log": "", "try.log": "a fixture is named hit*.log or miss*.log"}},
		{"no miss", map[string]string{"hit.log": hit}, map[string]string{"hit.log": "", "USR-ORCA-001": "needs at least one hit and one miss fixture"}},
		{"no fixture", nil, map[string]string{"USR-ORCA-001": "needs at least one hit and one miss fixture"}},
		{"a folder of nodes", map[string]string{"hit-nodes/n0.log": node + "0\n" + sglStart, "hit-nodes/n1.log": node + "1\n" + sglStart + orcaNeeds, "miss.log": miss}, map[string]string{"hit-nodes": "", "miss.log": ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fsys := fstest.MapFS{
				"USR-ORCA-001/rule.yaml":              {Data: []byte(orcaRule)},
				"USR-WHALE-001/rule.yaml":             {Data: []byte(earlier)},
				"USR-WHALE-001/testdata/hit.log":      {Data: []byte(sglStart + strange)},
				"USR-WHALE-001/testdata/miss-why.log": {Data: []byte(miss)},
			}
			for name, log := range tc.files {
				fsys["USR-ORCA-001/testdata/"+name] = &fstest.MapFile{Data: []byte(log)}
			}
			results, err := explain.TestRules(t.Context(), fsys)
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[string]string)
			for _, r := range results {
				if r.Rule == "USR-ORCA-001" {
					got[path.Base(r.File)] = r.Problem
				} else if r.Problem != "" {
					t.Errorf("%s: %s", r.Rule, r.Problem)
				}
			}
			for file, want := range tc.want {
				if problem, ok := got[file]; !ok || problem != want {
					t.Errorf("%s: %q (%v), want %q", file, problem, ok, want)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("results %v, want %v", got, tc.want)
			}
		})
	}
}

// TestRulesBesideBuiltin: a user's rule may name a built-in one; only the
// user's own are tested.
func TestRulesBesideBuiltin(t *testing.T) {
	fsys := fstest.MapFS{
		"USR-ORCA-001/rule.yaml":         {Data: []byte(orcaRule + "explains: [GEN-OOM-001]\n")},
		"USR-ORCA-001/testdata/hit.log":  {Data: []byte(sglStart + orcaNeeds + sglSigquit)},
		"USR-ORCA-001/testdata/miss.log": {Data: []byte(sglStart + sglSigquit)},
	}
	results, err := explain.TestRules(t.Context(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Rule != "USR-ORCA-001" || r.Problem != "" {
			t.Errorf("%+v", r)
		}
	}
	if len(results) != 2 {
		t.Errorf("%d results, want 2", len(results))
	}
	fsys["USR-ORCA-001/rule.yaml"].Data = []byte(orcaRule + "explains: [USR-NONE-001]\n")
	if _, err := explain.TestRules(t.Context(), fsys); err == nil || !strings.Contains(err.Error(), "USR-ORCA-001: names the unknown rule USR-NONE-001") {
		t.Errorf("error %v", err)
	}
}
