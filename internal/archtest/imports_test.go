package archtest

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// layer is one rule about imports: packages that match one of the patterns in
// from must not reach, directly or through packages of this module, an import
// that matches deny and not except.
type layer struct {
	from   []string
	test   []string // of from: helpers of tests, which the rule leaves out
	deny   []string
	except []string
	why    string
}

// own turns folders of internal into import patterns.
func own(names ...string) []string {
	for i, n := range names {
		names[i] = module + "/internal/" + n
	}
	return names
}

// addresses is the part of net that only parses them.
var addresses = []string{"net/netip"}

var layers = []layer{
	{
		from: []string{"internal/fact", "internal/finding"},
		deny: []string{module + "/...", "*.*/..."},
		why:  "the vocabularies are what everything else agrees on, so they stand on the standard library alone",
	},
	{
		from:   []string{"internal/knowledge", "internal/ledger", "internal/launch", "internal/compare", "internal/plan/...", "internal/memfit", "internal/probe"},
		deny:   append(own("engine/*/...", "runner/...", "prober/...", "endpoint/...", "cli/...", "report/...", "term/..."), "net/...", "os/exec"),
		except: addresses,
		why:    "judging is pure: the same facts give the same findings, without a network, a process or an output format",
	},
	{
		from:   []string{"internal/logstream", "internal/match", "internal/command", "internal/engine/..."},
		deny:   append(own("knowledge/...", "ledger/...", "launch/...", "explain/...", "report/...", "cli/..."), "net/...", "os/exec"),
		except: addresses,
		why:    "reading does not judge, and reading a log opens no connection and starts no process",
	},
	{
		from:   []string{"internal/flags", "internal/match", "internal/term", "internal/redact", "internal/hardware", "internal/hfconfig", "internal/numfmt"},
		deny:   []string{module + "/..."},
		except: own("flags/..."), // its tables have a folder of their own
		why:    "leaves: everybody may use them because they use nobody",
	},
	{
		from:   []string{"internal/kernel"},
		deny:   []string{module + "/..."},
		except: own("numfmt/..."),
		why:    "arithmetic knows formats and numbers, and neither files nor models",
	},
	{
		from:   []string{"internal/checkpoint"},
		deny:   []string{module + "/...", "net/...", "os/exec"},
		except: own("hfconfig"),
		why:    "a checkpoint reader serves the inspector and the oracle alike, so it knows neither engines nor findings",
	},
	{
		from:   []string{"internal/oracle/..."},
		deny:   append(own("knowledge/...", "ledger/...", "launch/...", "compare/...", "plan/...", "command/...", "engine/...", "explain/...", "report/...", "cli/...", "term/..."), "net/...", "os/exec"),
		except: addresses,
		why:    "the oracle knows numbers and checkpoints, and nothing of logs and engines, whose answers it has to check",
	},
	{
		from: []string{"internal/inspect"},
		deny: append(own("cli/...", "report/...", "term/...", "explain/...", "launch/...", "logstream/..."), "net/http", "os/exec"),
		why:  "an inspection is a list of messages from files alone; how they are shown is decided elsewhere",
	},
	{
		from: []string{"internal/endpoint"},
		deny: append(own("cli/...", "report/...", "term/...", "oracle/...", "serve/...", "knowledge/...", "prober/..."), "os/exec"),
		why:  "an endpoint asks and reads; what an answer means, and what a right one is, others judge",
	},
	{
		from: []string{"internal/report"},
		deny: append(own("knowledge/...", "ledger/...", "launch/...", "logstream/...", "engine/...", "explain/..."), "net/http", "os/exec"),
		why:  "a report is made from messages and from nothing else, so that a saved stream gives the same report",
	},
	{
		from:   []string{"internal/planner", "internal/rewrite", "internal/clean"},
		deny:   append(own("cli/...", "report/...", "term/...", "explain/..."), "net/...", "os/exec"),
		except: addresses,
		why:    "a plan is made from files and the resolvers' answers; what a machine has to say is handed in",
	},
	{
		from:   []string{"internal/prober/..."},
		deny:   append(own("cli/...", "report/...", "term/...", "explain/...", "endpoint/..."), "net/...", "os/exec"),
		except: addresses,
		why:    "the battery is run on any server, and held against any checkpoint; how one is asked is handed in",
	},
	{
		from:   []string{"internal/score"},
		deny:   append(own("cli/...", "report/...", "term/..."), "net/...", "os/exec"),
		except: addresses,
		why:    "a score is taken from the messages of explain, as a user's script would, and needs no network",
	},
	{
		from: []string{"cmd/...", "internal/..."},
		test: []string{"internal/oracle/oracletest"},
		deny: own("score", "enginetest", "launchtest", "checkpointtest", "oracle/oracletest", "endpoint/endpointtest"),
		why:  "what measures or tests the product is no part of it",
	},
	{
		from: []string{"internal/..."},
		deny: own("cli"),
		why:  "flags and exit codes stay at the edge; only main calls the command line",
	},
}

func TestLayers(t *testing.T) {
	tr := load(t)
	for _, l := range layers {
		for _, dir := range tr.dirs() {
			if !matchAny(l.from, dir) || matchAny(l.test, dir) {
				continue
			}
			if chain := tr.reach(dir, l); chain != nil {
				t.Errorf("%s must not import %s: %s\n\tchain: %s", dir, chain[len(chain)-1], l.why, strings.Join(chain, " -> "))
			}
		}
	}
}

// TestEnginesAreStrangers is apart from the layers because its rule compares
// two places: an engine may import what lies below itself.
func TestEnginesAreStrangers(t *testing.T) {
	tr := load(t)
	for _, dir := range tr.dirs() {
		name, ok := strings.CutPrefix(dir, "internal/engine/")
		if !ok || name == "all" {
			continue
		}
		name, _, _ = strings.Cut(name, "/")
		others := layer{
			deny:   own("engine/*/..."),
			except: own("engine/" + name + "/..."),
		}
		if chain := tr.reach(dir, others); chain != nil {
			t.Errorf("%s: engines must not know each other, so that one can be added or removed alone: %s", dir, strings.Join(chain, " -> "))
		}
	}
}

// reach returns the shortest chain of imports from dir to an import that l
// denies, or nil.
func (tr *tree) reach(dir string, l layer) []string {
	seen := map[string]bool{dir: true}
	queue := [][]string{{dir}}
	for len(queue) > 0 {
		chain := queue[0]
		queue = queue[1:]
		for _, imp := range tr.packages[chain[len(chain)-1]].imports() {
			if denied(l, imp) {
				return append(slices.Clone(chain), imp)
			}
			next := strings.TrimPrefix(imp, module+"/")
			if tr.packages[next] == nil || seen[next] {
				continue
			}
			seen[next] = true
			queue = append(queue, append(slices.Clone(chain), next))
		}
	}
	return nil
}

func denied(l layer, imp string) bool {
	return matchImport(l.deny, imp) && !matchImport(l.except, imp)
}

// matchImport is matchAny for import paths, where "/..." may follow a pattern
// with stars: "a/*/..." matches a/b and a/b/c, and "*.*/..." every path that
// begins with a host name.
func matchImport(patterns []string, imp string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, deep := strings.CutSuffix(p, "/...")
		if !deep {
			return p == imp
		}
		segments := strings.Split(imp, "/")
		n := strings.Count(prefix, "/") + 1
		if len(segments) < n {
			return false
		}
		ok, err := path.Match(prefix, strings.Join(segments[:n], "/"))
		return ok && err == nil
	})
}

func TestMatchImport(t *testing.T) {
	for _, tc := range []struct {
		pattern, imp string
		want         bool
	}{
		{"net/...", "net", true},
		{"net/...", "net/http", true},
		{"net/...", "netip", false},
		{"os/exec", "os/exec", true},
		{"os/exec", "os", false},
		{"shakedown/internal/engine/*/...", "shakedown/internal/engine", false},
		{"shakedown/internal/engine/*/...", "shakedown/internal/engine/vllm/dump", true},
		{"*.*/...", "github.com/x/y", true},
		{"*.*/...", "encoding/json", false},
	} {
		if got := matchImport([]string{tc.pattern}, tc.imp); got != tc.want {
			t.Errorf("matchImport(%q, %q) = %v", tc.pattern, tc.imp, got)
		}
	}
}

// TestReachFindsChains shows that a rule that is broken two imports away fails.
func TestReachFindsChains(t *testing.T) {
	tr := load(t)
	l := layer{deny: []string{"encoding/json"}}
	want := []string{"cmd/shakedown", "internal/cli", "encoding/json"}
	if got := tr.reach("cmd/shakedown", l); !slices.Equal(got, want) {
		t.Errorf("reach = %v, want %v", got, want)
	}
}
