package inspect_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/inspect"
	"shakedown/internal/knowledge"
)

var update = flag.Bool("update", false, "write docs/checks.md anew")

const document = "../../docs/checks.md"

const intro = `# What inspect looks for

The checks of ` + "`shakedown inspect`" + `, with what each means, its class of root causes and
what to do. Written and checked by ` + "`internal/inspect/document_test.go`" + `; every check has a
broken checkpoint in ` + "`inspect_test.go`" + ` that it must name.

An error is broken in the files themselves. A warning breaks with an engine, a GPU or a
parallel layout that was named. The severity below is the usual one; a remark becomes a
warning when what was named makes it matter.

`

const launchesIntro = `
## Memory: the launches it was compared with

Weights on the fullest GPU as reckoned from the tensors, against what the engine printed
("Load weight end ... mem usage" of SGLang, "Model loading took" of vLLM); and tokens of
KV cache from the memory that the log says is free, against what it made of it. Both must
be within 2 % (` + "`launches_test.go`" + `).

| launch | GPUs | weights printed | tokens printed |
| --- | --- | --- | --- |
`

const founding = `
In use beside the tensors, and not explained: 2.8 GiB of the first one (3.8 %).
GLM-5-NVFP4 on eight RTX PRO 6000, reckoned before any launch: within 10 % of 370,752
tokens and of 17.08 GB left, given the memory fraction of 0.8 that the rest of that log
implies (` + "`TestFounding`" + `).
`

func render() string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("| id | finding | severity | class | why | remedy |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range inspect.Checks {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", c.ID, c.Title, c.Severity, c.Cause, c.Why, c.Remedy)
	}
	b.WriteString(launchesIntro)
	for _, l := range launches {
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", l.name, l.tp*l.pp, number(l.weights), number(float64(l.tokens)))
	}
	b.WriteString(founding)
	return b.String()
}

func number(f float64) string {
	if f == 0 {
		return "-"
	}
	if f == float64(int(f)) {
		return fmt.Sprint(int(f))
	}
	return fmt.Sprintf("%.2f GiB", f)
}

func TestDocument(t *testing.T) {
	want := render()
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date: go test ./internal/inspect -run Document -update", document)
	}
}

func TestChecks(t *testing.T) {
	last := ""
	class := func(name string) bool {
		return slices.ContainsFunc(knowledge.Classes, func(c knowledge.Class) bool { return c.Name == name && !c.Meta })
	}
	for _, c := range inspect.Checks {
		if c.ID <= last {
			t.Errorf("%s stands behind %s", c.ID, last)
		}
		last = c.ID
		if c.Title == "" || c.Why == "" || !class(c.Cause) || strings.ContainsAny(c.Title+c.Why+c.Remedy, "|\n") {
			t.Errorf("%s is not described: %+v", c.ID, c)
		}
	}
}
