package knowledge_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"shakedown/internal/knowledge"
	"shakedown/internal/knowledge/rules"
)

// good is a rule with all required keys; more is added or put in its place.
const good = `id: USR-TEST-001
title: the orca kernel is too big
why: It is.
cause: kernel-resources
severity: error
role: cause
confidence: likely
lines:
  - anchor: orca kernel needs
`

// with adds keys to the good rule.
func with(more string) string { return good + more + "\n" }

// but replaces one text of the good rule.
func but(from, to string) string { return strings.Replace(good, from, to, 1) }

func TestParseRule(t *testing.T) {
	r, err := knowledge.ParseRule([]byte(with("engines: {sglang: '>=0.5.6 <0.6', vllm: ''}\nremedies: [{title: smaller, set: {--tp: '2'}, unset: [--x]}]\nstrengthen: [{when: [{phase: [load]}], confidence: proven}]")))
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != "USR-TEST-001" || r.Lines[0].Anchor != "orca kernel needs" || r.Remedies[0].Set["--tp"] != "2" || r.Strengthen[0].Confidence != "proven" || r.Generic() {
		t.Errorf("%+v", r)
	}
	if g, err := knowledge.ParseRule([]byte(but("USR-TEST-001", "GEN-EXC-001"))); err != nil || !g.Generic() {
		t.Errorf("a generic rule: %v, %v", g, err)
	}
}

// TestParseRuleErrors: every mistake has a message that names it.
func TestParseRuleErrors(t *testing.T) {
	for _, tc := range []struct{ name, rule, want string }{
		{"nothing", "", "EOF"},
		{"no mapping", "- a\n", "cannot unmarshal"},
		{"unknown key", with("sincee: '0.1'"), "field sincee not found"},
		{"unknown key of a line", with("also: [{anchor: abcdefg, regexp: x}]"), "field regexp not found"},
		{"unknown key of a condition", with("when: [{fact: gpu.sm, equals: x}]"), "field equals not found"},
		{"too long", with("basis: " + strings.Repeat("x", 64<<10)), "the limit is 65536"},
		{"id", but("USR-TEST-001", "usr-1"), `id "usr-1": want ENGINE-AREA-NNN`},
		{"id of an unknown engine", but("USR-TEST-001", "XYZ-TEST-001"), `id "XYZ-TEST-001"`},
		{"title", but("title: the orca kernel is too big", "title: ''"), "title and why are required"},
		{"why", but("why: It is.", "why: ''"), "title and why are required"},
		{"cause", but("kernel-resources", "bad-luck"), `cause "bad-luck" is no class: want one of numerics-nan, `},
		{"severity", but("severity: error", "severity: fatal"), `severity "fatal": want error, warning or info`},
		{"role", but("role: cause", "role: culprit"), `role "culprit": want cause, latent, suspect, symptom, consequence or exonerate`},
		{"confidence", but("likely", "sure"), `confidence "sure": want proven, likely or possible`},
		{"nothing to match", but("lines:\n  - anchor: orca kernel needs\n", ""), "a rule needs lines, when or plan"},
		{"short anchor", but("orca kernel needs", "orca"), `anchor "orca": want at least 6 bytes`},
		{"short anchor in also", with("also: [{anchor: abc}]"), `anchor "abc": want at least 6 bytes`},
		{"short anchor in not", with("not: [{anchor: abc}]"), `anchor "abc": want at least 6 bytes`},
		{"place", with("also: [{anchor: abcdefg, in: [prose]}]"), `unknown place "prose"`},
		{"regex", with("also: [{anchor: abcdefg, regex: '('}]"), `anchor "abcdefg": error parsing regexp`},
		{"phase of a line", with("also: [{anchor: abcdefg, phase: [lunch]}]"), `anchor "abcdefg": phase "lunch"`},
		{"condition without subject", with("when: [{is: x}]"), "a condition needs exactly one subject, got 0"},
		{"condition with two subjects", with("when: [{fact: gpu.sm, setting: tp_size, is: x}]"), "a condition needs exactly one subject, got 2"},
		{"check", with("when: [{check: full-moon}]"), `check "full-moon" is unknown`},
		{"version", with("when: [{version: 'about 5'}]"), "version: "},
		{"condition of strengthen", with("strengthen: [{when: [{check: full-moon}], confidence: proven}]"), `check "full-moon" is unknown`},
		{"confidence of strengthen", with("strengthen: [{when: [{phase: [load]}], confidence: sure}]"), `strengthen: confidence "sure"`},
		{"remedy without title", with("remedies: [{text: hope}]"), "a remedy needs a title"},
		{"condition of a remedy", with("remedies: [{title: x, when: [{check: full-moon}]}]"), `check "full-moon" is unknown`},
		{"a setting in place of a flag", with("remedies: [{title: smaller, set: {tp: '2'}}]"), `remedy "smaller": set "tp" is no flag`},
		{"range of an engine", with("engines: {sglang: 'about 5'}"), "engines: sglang: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := knowledge.ParseRule([]byte(tc.rule)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	_, err := knowledge.ParseRule([]byte(strings.NewReplacer("likely", "sure", "error", "fatal", "USR", "XYZ").Replace(good)))
	for _, part := range []string{"confidence", "severity", "id "} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("all problems are told at once; %q is not in %v", part, err)
		}
	}
}

// system puts rules into folders named after them.
func system(all ...string) fstest.MapFS {
	fsys := make(fstest.MapFS)
	for _, text := range all {
		_, id, _ := strings.Cut(text, "id: ")
		id, _, _ = strings.Cut(id, "\n")
		fsys["area/"+id+"/rule.yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func numbered(n int, more string) string {
	return but("USR-TEST-001", fmt.Sprintf("USR-TEST-%03d", n)) + more + "\n"
}

func TestLoad(t *testing.T) {
	fsys := system(numbered(2, ""), numbered(1, "depends_on: [USR-TEST-002]"))
	fsys["area/USR-TEST-001/testdata/hit.log"] = &fstest.MapFile{Data: []byte("id: no rule")}
	base, err := knowledge.Load(fsys, system(numbered(3, "explains: [symptom]\nalso: [{anchor: abcdefg}]\nnot: [{anchor: hijklmn}]")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range base.Rules() {
		got = append(got, fmt.Sprint(r.ID, " ", r.Dir, " ", r.Builtin))
	}
	want := "[USR-TEST-001 area/USR-TEST-001 true USR-TEST-002 area/USR-TEST-002 true USR-TEST-003 area/USR-TEST-003 false]"
	if fmt.Sprint(got) != want {
		t.Errorf("rules %v, want %s", got, want)
	}
	if n := len(base.Watches()); n != 5 {
		t.Errorf("%d watches, want one for each of 5 lines", n)
	}
	if r, ok := base.Rule("USR-TEST-002"); !ok || r.ID != "USR-TEST-002" {
		t.Error("a rule is not found by its id")
	}
	if _, ok := base.Rule("USR-TEST-009"); ok {
		t.Error("a rule is found that does not exist")
	}
}

func TestLoadErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		fsys fs.FS
		want []string
	}{
		{"file and problem", system(but("likely", "sure")), []string{`area/USR-TEST-001/rule.yaml: confidence "sure"`}},
		{"folder", fstest.MapFS{"area/USR-OTHER-001/rule.yaml": {Data: []byte(good)}}, []string{"the folder is named USR-OTHER-001, the rule USR-TEST-001"}},
		{"unknown rule in depends_on", system(with("depends_on: [USR-TEST-009]")), []string{"USR-TEST-001: names the unknown rule USR-TEST-009"}},
		{"unknown rule in explains", system(with("explains: [USR-TEST-009]")), []string{"USR-TEST-001: names the unknown rule USR-TEST-009"}},
		{"a rule below itself", system(with("depends_on: [USR-TEST-001]")), []string{"in a circle: USR-TEST-001 -> USR-TEST-001"}},
		{
			"a circle", system(numbered(1, "depends_on: [USR-TEST-002]"), numbered(2, "depends_on: [USR-TEST-003]"), numbered(3, "depends_on: [USR-TEST-001]")),
			[]string{"in a circle: USR-TEST-001 -> USR-TEST-003 -> USR-TEST-002 -> USR-TEST-001"},
		},
		{
			"all problems at once", system(numbered(1, "sincee: x"), numbered(2, "when: [{is: x}]"), numbered(3, "")),
			[]string{"USR-TEST-001/rule.yaml: yaml: ", "USR-TEST-002/rule.yaml: a condition needs"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := knowledge.Load(tc.fsys)
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
		})
	}
}

func TestLoadTwice(t *testing.T) {
	_, err := knowledge.Load(system(good), system(good))
	if !errors.Is(err, knowledge.ErrTaken) || !strings.Contains(err.Error(), "USR-TEST-001 by area/USR-TEST-001") {
		t.Errorf("error %v", err)
	}
}

// TestDiamond: two ways to the same rule are no circle.
func TestDiamond(t *testing.T) {
	_, err := knowledge.Load(system(numbered(1, "depends_on: [USR-TEST-002, USR-TEST-003]"), numbered(2, "depends_on: [USR-TEST-004]"), numbered(3, "depends_on: [USR-TEST-004]"), numbered(4, "")))
	if err != nil {
		t.Error(err)
	}
}

func TestBuiltin(t *testing.T) {
	base, err := knowledge.Load(rules.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range base.Rules() {
		if !r.Builtin || len(r.Sources) == 0 || r.Since == "" {
			t.Errorf("%s: built in %v, sources %q, since %q", r.ID, r.Builtin, r.Sources, r.Since)
		}
	}
}

func TestClasses(t *testing.T) {
	meta := false
	seen := make(map[string]bool)
	for _, c := range knowledge.Classes {
		if seen[c.Name] || c.Title == "" || meta && !c.Meta {
			t.Errorf("class %+v: twice, without title, or behind the meta classes", c)
		}
		seen[c.Name], meta = true, meta || c.Meta
	}
}

// FuzzParseRule: any bytes are a rule or an error, and a rule can be loaded.
func FuzzParseRule(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(with("when: [{fact: gpu.sm, in: ['12.0'], above: 3, below: x}, {version: '>=1'}, {check: sm12x}]\nframes: [a]\nno_frames: [b]")))
	f.Add([]byte(with("engines: {sglang: '>=0.5.6 <0.6'}\nalso: [{anchor: abcdefg, regex: '(?P<x>.)', in: [log], phase: [load]}]")))
	f.Add([]byte(with("a: &a [*a, *a]\nb: !!binary x")))
	f.Add([]byte(strings.Repeat("- ", 3000)))
	f.Add([]byte("id: \xff\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := knowledge.ParseRule(data)
		if err != nil {
			return
		}
		if _, err := knowledge.Load(fstest.MapFS{r.ID + "/rule.yaml": {Data: data}}); err != nil && len(r.DependsOn)+len(r.Explains) == 0 {
			t.Errorf("a good rule is not loaded: %v", err)
		}
	})
}
