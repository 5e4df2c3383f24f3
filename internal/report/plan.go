package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

// planView is what a report says of a launch that was not started.
type planView struct {
	Refused []refusal
	Ignored []override
	Trouble []suspect // numbered behind the refusals
	Chosen  []branch  // what the engine chooses, as trees of what follows from what
	Short   []branch  // the same without what matters to few
	Memory  *memoryView
	Assumed []string
}

// refusal is something that the engine will not do.
type refusal struct {
	Number int
	Text   string
	Error  string // the engine's own words
	Where  string // stage or flag
}

// override is what the user asked for and does not get.
type override struct {
	Flag    string // with its value
	Result  string // what it is instead, and why
	Instead []string
	Where   string
}

// matters says whether a short report shows it: lists of batch sizes and
// settings of features that most launches do not use are for the full one.
func matters(m finding.SettingMsg) bool {
	return m.Silent || worthOf(m.Name) < len(worth) && !strings.HasSuffix(m.Name, "_graph_bs") && !strings.HasSuffix(m.Name, "_graph_tokens") && !strings.HasSuffix(m.Name, "_sizes") && !strings.HasSuffix(m.Name, ".class")
}

// branch is a setting below the one that it follows from.
type branch struct {
	Depth  int
	Last   []bool // per depth: no further branch follows
	Name   string
	Value  string
	Why    string
	Where  string // the place in the engine's source
	Line   string // what the engine prints for it
	Silent bool
}

// memoryView is the use of one GPU in words.
type memoryView struct {
	Verdict string
	Fits    bool
	Total   string
	Rows    []memoryRow
	Notes   []string
}

type memoryRow struct {
	Name, Size, How string
	Share           float64 // of the whole
}

// addPlan fills the part of a view that only planned launches have.
func (v *view) addPlan(l *launch, p places) {
	pv := &planView{Assumed: l.Notes}
	v.Latent, v.Remarks, v.Actions, v.Decide = nil, nil, nil, nil
	var roots []finding.FindingMsg
	for i, r := range l.refused {
		pv.Refused = append(pv.Refused, refusal{Number: i + 1, Text: r.Text, Error: r.Error, Where: cmp.Or(r.Name, r.Stage)})
		roots = append(roots, finding.FindingMsg{ID: fmt.Sprint("refused-", i), Title: r.Text, Remedies: r.Remedies})
	}
	for i, f := range l.findings {
		s := newSuspect(f, p)
		s.Number = len(l.refused) + i + 1
		pv.Trouble = append(pv.Trouble, s)
		roots = append(roots, f)
	}
	for _, m := range l.ignored {
		pv.Ignored = append(pv.Ignored, newOverride(m))
	}
	v.Actions = actions(roots, nil)
	pv.Chosen = branches(l.settings)
	pv.Short = branches(slices.DeleteFunc(slices.Clone(l.settings), func(m finding.SettingMsg) bool { return !matters(m) }))
	if l.memory != nil {
		pv.Memory = newMemoryView(l.memory)
	}
	v.Plan = pv
}

func newOverride(m finding.IgnoredMsg) override {
	o := override{Flag: strings.TrimSpace(cmp.Or(m.Flag, m.Name) + " " + m.Asked)}
	o.Result = m.Name + " is " + m.Effective
	if m.Why != "" {
		o.Result += ": " + m.Why
	}
	for _, r := range m.Remedies {
		o.Instead = append(o.Instead, r.Title)
	}
	if len(m.Because) > 0 {
		o.Where = m.Because[0].File
	}
	return o
}

// worth orders what an engine chooses by what most launches fail on; what is not
// named comes last.
var worth = []string{
	"kv_cache_dtype", "cache_dtype", "attention_backend", "_prefill_backend", "_decode_backend", "quantization", "dtype", "moe_runner_backend", "moe_backend", "moe_a2a",
	"gemm", "page_size", "block_size", "mem_fraction_static", "gpu_memory_utilization", "chunked_prefill_size", "max_num_batched_tokens",
	"max_running_requests", "radix_cache", "prefix_caching", "overlap", "async_scheduling", "cuda_graph", "cudagraph", "mode",
}

func worthOf(name string) int {
	i := slices.IndexFunc(worth, func(w string) bool { return strings.Contains(name, w) })
	if i < 0 || strings.HasPrefix(name, "speculative") {
		return len(worth)
	}
	return i
}

// branches makes trees of what the engine chooses: below each choice what
// follows from it. Replaced settings come first, then what matters most.
func branches(ms []finding.SettingMsg) []branch {
	var chosen []finding.SettingMsg
	at := map[string]int{}
	for _, m := range ms {
		if m.Silent || m.Choice != "" && slices.Contains(chosenFor, m.ChosenBy) {
			chosen = append(chosen, m)
		}
	}
	slices.SortStableFunc(chosen, func(a, b finding.SettingMsg) int {
		return cmp.Or(cmp.Compare(truth(b.Silent), truth(a.Silent)), cmp.Compare(worthOf(a.Name), worthOf(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	value := map[string]string{}
	for _, m := range ms {
		value[m.Name] = m.Effective
	}
	for i, m := range chosen {
		at[m.Name] = i
	}
	children := make(map[int][]int)
	var roots []int
	for i, m := range chosen {
		parent := -1
		for _, c := range m.Coupled {
			if j, ok := at[c]; ok && j != i && !below(chosen, at, c, m.Name) {
				parent = j
				break
			}
		}
		if parent < 0 {
			roots = append(roots, i)
		} else {
			children[parent] = append(children[parent], i)
		}
	}
	var out []branch
	var walk func(i int, last []bool)
	walk = func(i int, last []bool) {
		m := chosen[i]
		b := branch{Depth: len(last), Last: slices.Clone(last), Name: m.Name, Value: m.Effective, Silent: m.Silent, Why: whyChosen(m, value, len(last) > 0)}
		if len(m.Because) > 0 {
			b.Where, b.Line = m.Because[0].File, m.Because[0].Text
		}
		out = append(out, b)
		for n, c := range children[i] {
			walk(c, append(slices.Clone(last), n == len(children[i])-1))
		}
	}
	for _, r := range roots {
		walk(r, nil)
	}
	return out
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// below says whether a setting follows from another one, directly or through
// others, so that hanging it below would close a circle.
func below(chosen []finding.SettingMsg, at map[string]int, name, root string) bool {
	seen := map[string]bool{}
	for open := []string{name}; len(open) > 0; open = open[1:] {
		n := open[0]
		if n == root {
			return true
		}
		if j, ok := at[n]; ok && !seen[n] {
			open = append(open, chosen[j].Coupled...)
		}
		seen[n] = true
	}
	return false
}

// inSentence is a sentence behind a comma: its first word small, unless it is a
// name with more capitals, digits or signs.
func inSentence(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if word == "" || strings.Trim(word[1:], "abcdefghijklmnopqrstuvwxyz") != "" {
		return s
	}
	return strings.ToLower(word) + s[len(word):]
}

// whyChosen says by whom and by which rule.
func whyChosen(m finding.SettingMsg, value map[string]string, nested bool) string {
	var parts []string
	if m.Silent {
		parts = append(parts, "instead of your "+asked(m.Asked))
	} else if m.Asked.Value != nil {
		parts = append(parts, "that is what "+asked(m.Asked)+" means here")
	}
	if len(m.Because) > 0 && m.Because[0].Note != "" {
		parts = append(parts, inSentence(strings.TrimSuffix(m.Because[0].Note, ".")))
	}
	if len(m.Coupled) > 0 && !nested {
		from := make([]string, len(m.Coupled))
		for i, c := range m.Coupled {
			from[i] = strings.TrimSpace(c + " " + strings.TrimPrefix(value[c], "None"))
		}
		parts = append(parts, "<- "+strings.Join(from, ", "))
	} else if m.ChosenBy != "coupling" && m.ChosenBy != "" {
		parts = append(parts, "by the "+m.ChosenBy)
	}
	return strings.Join(parts, "; ")
}

func newMemoryView(m *finding.MemoryMsg) *memoryView {
	v := &memoryView{Verdict: m.Text, Fits: m.Fits, Total: gib(m.Total), Notes: m.Notes}
	for _, it := range m.Items {
		v.Rows = append(v.Rows, memoryRow{Name: it.Name, Size: gib(it.Size), How: it.How, Share: it.Size / max(m.Total, 1)})
	}
	v.Rows = append(v.Rows, memoryRow{Name: "left", Size: gib(m.Left), Share: m.Left / max(m.Total, 1)})
	return v
}

func gib(f float64) string { return fmt.Sprintf("%.1f GiB", f) }
