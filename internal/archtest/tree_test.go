package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the module path of go.mod.
const module = "shakedown"

// root is the repository's top folder, seen from this package.
const root = "../.."

// goFile is one parsed Go file.
type goFile struct {
	path  string // slash-separated, from the repository's top
	test  bool
	lines int
	ast   *ast.File
}

// goPackage is one folder of Go files.
type goPackage struct {
	dir   string // slash-separated, from the repository's top
	files []*goFile
}

// imports lists the import paths of the package's own files, without tests.
func (p *goPackage) imports() []string {
	var all []string
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// tree is the repository as the rules see it.
type tree struct {
	fset     *token.FileSet
	packages map[string]*goPackage // by dir
	texts    map[string][]byte     // every file that is no binary, by path
}

// skipped are folders that are not ours to judge, by name; .git is a file in a
// second working tree.
var skipped = []string{".git", "dist"}

func load(t *testing.T) *tree {
	t.Helper()
	tr := &tree{fset: token.NewFileSet(), packages: map[string]*goPackage{}, texts: map[string][]byte{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch ours := !slices.Contains(skipped, d.Name()); {
		case d.IsDir() && !ours:
			return fs.SkipDir
		case d.IsDir() || !ours:
			return nil
		}
		return tr.add(name)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func (tr *tree) add(name string) error {
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if bytes.IndexByte(data[:min(len(data), 8<<10)], 0) < 0 {
		tr.texts[rel] = data
	}
	if !strings.HasSuffix(rel, ".go") || strings.Contains(rel, "testdata/") {
		return nil
	}
	parsed, err := parser.ParseFile(tr.fset, rel, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(rel)
	if tr.packages[dir] == nil {
		tr.packages[dir] = &goPackage{dir: dir}
	}
	tr.packages[dir].files = append(tr.packages[dir].files, &goFile{
		path: rel, test: strings.HasSuffix(rel, "_test.go"), lines: bytes.Count(data, []byte("\n")), ast: parsed,
	})
	return nil
}

// dirs lists the packages' folders in order.
func (tr *tree) dirs() []string {
	var all []string
	for dir := range tr.packages {
		all = append(all, dir)
	}
	slices.Sort(all)
	return all
}

// each calls fn for every node of every file outside the given folders; tests
// are left out.
func (tr *tree) each(except []string, fn func(f *goFile, n ast.Node)) {
	for _, dir := range tr.dirs() {
		if matchAny(except, dir) {
			continue
		}
		for _, f := range tr.packages[dir].files {
			if f.test {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if n != nil {
					fn(f, n)
				}
				return true
			})
		}
	}
}

// at is the position of n as file:line.
func (tr *tree) at(n ast.Node) string {
	pos := tr.fset.Position(n.Pos())
	return pos.Filename + ":" + strconv.Itoa(pos.Line)
}

// matchAny says whether one of the patterns matches name: a pattern that ends
// in "/..." matches the folder and everything below it, others match as
// path.Match does.
func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if prefix, ok := strings.CutSuffix(p, "/..."); ok {
			return name == prefix || strings.HasPrefix(name, prefix+"/")
		}
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}
