package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// place is a rule about something that may be used in some folders only.
type place struct {
	what  string
	allow []string // folders
	found func(n ast.Node) bool
	why   string
}

var places = []place{
	{
		what:  "a terminal control sequence",
		allow: []string{"internal/term", "internal/logstream"},
		found: func(n ast.Node) bool { return stringContains(n, "\x1b[") },
		why:   "term is the only writer of ANSI (logstream strips it from logs)",
	},
	{
		what:  "html/template",
		allow: []string{"internal/report"},
		found: func(n ast.Node) bool { return importOf(n, "html/template") },
		why:   "HTML is made in report only, where everything is escaped",
	},
	{
		what:  "text/template",
		found: func(n ast.Node) bool { return importOf(n, "text/template") },
		why:   "it escapes nothing; reports are written by hand or with html/template",
	},
	{
		what:  "os.Exit or log.Fatal",
		allow: []string{"cmd/...", "scripts/...", "internal/*/gen"}, // programs
		found: func(n ast.Node) bool {
			return calls(n, "os", "Exit") || calls(n, "log", "Fatal") || calls(n, "log", "Fatalf")
		},
		why: "libraries return errors; main alone ends the process",
	},
	{
		what:  "an exit code",
		allow: []string{"internal/cli"},
		found: isExitCode,
		why:   "the table of exit codes is in internal/cli/exit.go and nowhere else",
	},
	{
		what:  "unsafe",
		found: func(n ast.Node) bool { return importOf(n, "unsafe") },
		why:   "everything read is hostile",
	},
}

func TestPlaces(t *testing.T) {
	tr := load(t)
	for _, p := range places {
		tr.each(p.allow, func(_ *goFile, n ast.Node) {
			if p.found(n) {
				t.Errorf("%s: %s does not belong here: %s", tr.at(n), p.what, p.why)
			}
		})
	}
}

// pure are the packages whose results depend on their arguments alone.
var pure = []string{"internal/knowledge", "internal/ledger", "internal/launch", "internal/compare", "internal/plan", "internal/finding", "internal/fact", "internal/engine/..."}

func TestNoClockInJudging(t *testing.T) {
	tr := load(t)
	for _, dir := range tr.dirs() {
		if !matchAny(pure, dir) {
			continue
		}
		for _, f := range tr.packages[dir].files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				for _, name := range []string{"Now", "Since", "Until", "Sleep", "After", "Tick"} {
					if calls(n, "time", name) {
						t.Errorf("%s: time.%s: judging a log must not depend on when it is read", tr.at(n), name)
					}
				}
				return true
			})
		}
	}
}

// stringContains says whether n is a string literal that holds part.
func stringContains(n ast.Node, part string) bool {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(lit.Value)
	return err == nil && strings.Contains(text, part)
}

// importOf says whether n imports the package.
func importOf(n ast.Node, pkg string) bool {
	spec, ok := n.(*ast.ImportSpec)
	return ok && spec.Path.Value == strconv.Quote(pkg)
}

// calls says whether n is a use of pkg.name.
func calls(n ast.Node, pkg, name string) bool {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// isExitCode says whether n gives a literal number to a field ExitCode.
func isExitCode(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		return ok && key.Name == "ExitCode" && isNumber(n.Value)
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			sel, ok := left.(*ast.SelectorExpr)
			if ok && sel.Sel.Name == "ExitCode" && i < len(n.Rhs) && isNumber(n.Rhs[i]) {
				return true
			}
		}
	}
	return false
}

func isNumber(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.INT
}

// bannedNames say nothing about what a package is for.
var bannedNames = []string{"util", "utils", "common", "helper", "helpers", "models", "types", "misc", "shared", "base", "lib"}

func TestPackageNames(t *testing.T) {
	for _, dir := range load(t).dirs() {
		if name := path.Base(dir); slices.Contains(bannedNames, name) {
			t.Errorf("%s: %q says nothing about what the package is for; name the thing it holds", dir, name)
		}
	}
}

func TestOnePackageComment(t *testing.T) {
	tr := load(t)
	for _, dir := range tr.dirs() {
		var where []string
		for _, f := range tr.packages[dir].files {
			if f.ast.Doc == nil {
				continue
			}
			where = append(where, f.path)
			want := "Package " + f.ast.Name.Name + " "
			if f.ast.Name.Name == "main" {
				want = "Command " + path.Base(dir) + " "
			}
			if !strings.HasPrefix(f.ast.Doc.Text(), want) {
				t.Errorf("%s: the package comment must begin with %q", f.path, want)
			}
		}
		if len(where) != 1 {
			t.Errorf("%s has %d package comments %v, want exactly one, which defines its terms", dir, len(where), where)
		}
	}
}

// maxLines is where a file stops being one subject: the longest files of well
// kept Go projects of this size are about as long.
const maxLines = 900

func TestFileLength(t *testing.T) {
	tr := load(t)
	for _, dir := range tr.dirs() {
		for _, f := range tr.packages[dir].files {
			if f.lines > maxLines && !ast.IsGenerated(f.ast) && hasFuncs(f.ast) {
				t.Errorf("%s has %d lines, at most %d: split it by subject (files of data alone may be longer)", f.path, f.lines, maxLines)
			}
		}
	}
}

func hasFuncs(f *ast.File) bool {
	return slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		_, ok := d.(*ast.FuncDecl)
		return ok
	})
}

// forbidden must not stand in any file. They are written in pieces here, so
// that this file can be checked as well.
var forbidden = []struct{ text, why string }{
	{"/" + "work/", "a path of one machine: the build must work in any folder"},
	{"GOPROXY" + "=", "where modules come from is the environment's business"},
	{"proxy.golang" + ".org", "a registry's host: builds may stand behind a mirror"},
	{"registry.npmjs" + ".org", "a registry's host: builds may stand behind a mirror"},
	{"deb.debian" + ".org", "a registry's host: builds may stand behind a mirror"},
	{"files.pythonhosted" + ".org", "a registry's host: builds may stand behind a mirror"},
	{"static.crates" + ".io", "a registry's host: builds may stand behind a mirror"},
	{"TO" + "DO", "an open end: do it, or say in RATIONALE.md why not"},
	{"FIX" + "ME", "an open end: do it, or say in RATIONALE.md why not"},
}

func TestForbiddenTexts(t *testing.T) {
	for name, data := range load(t).texts {
		for _, f := range forbidden {
			if i := strings.Index(string(data), f.text); i >= 0 {
				t.Errorf("%s:%d holds %q: %s", name, 1+strings.Count(string(data[:i]), "\n"), f.text, f.why)
			}
		}
	}
}
