package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/engine"
	"shakedown/internal/finding"
)

func ptr(s string) *string { return &s }

func onLine(line int) []finding.Evidence {
	return []finding.Evidence{{Kind: "log", File: "x.log", Line: line}}
}

// milestones makes milestones ten seconds and ten lines apart.
func milestones(names ...string) []finding.Milestone {
	ms := make([]finding.Milestone, len(names))
	for i, n := range names {
		ms[i] = finding.Milestone{Name: n, File: "x.log", Line: 10 * (i + 1), Seconds: float64(10 * i)}
	}
	return ms
}

// worked is a launch that became ready; each test changes a copy.
func worked() *Launch {
	return &Launch{
		Launches: 1,
		LaunchMsg: finding.LaunchMsg{
			N: 1, Files: []string{"x.log"}, Engine: "sglang", EngineVersion: "0.5.9", Outcome: finding.OK, Phase: "ready",
			Model: "acme/Heron-14B", Hardware: "1x H100", Milestones: milestones("loading", "loaded", "KV sized", "captured", "ready"),
			Command: []string{"python", "-m", "sglang.launch_server", "--model-path", "acme/Heron-14B", "--mem-fraction-static", "0.85"},
			Facts: []finding.FactEntry{
				{Key: "kv.tokens", Value: "200000", File: "x.log", Line: 31}, {Key: "mem.avail_gb", Value: "30.0", Unit: "GB", File: "x.log", Line: 20},
				{Key: "kv.dtype", Value: "bfloat16", File: "x.log", Line: 30}, {Key: "http.port", Value: "8000"},
			},
		},
		Settings: []finding.SettingMsg{
			{Name: "attention_backend", Asked: finding.Asked{Known: true}, Effective: "fa3", ChosenBy: "hardware", Choice: "SGL-ATTN-DEFAULT-001", Because: onLine(12)},
			{Name: "kv_cache_dtype", Asked: finding.Asked{Known: true}, Effective: "auto", ChosenBy: "default", Because: onLine(5)},
			{Name: "chunked_prefill_size", Asked: finding.Asked{Known: true}, Effective: "8192", ChosenBy: "default", Because: onLine(5)},
			{Name: "mem_fraction_static", Asked: finding.Asked{Known: true, Value: ptr("0.85")}, Effective: "0.85", ChosenBy: "user", Because: onLine(5)},
		},
	}
}

// broke is the same launch, failed in the capture.
func broke() *Launch {
	l := worked()
	l.Outcome, l.Phase, l.Verdict = finding.Failed, "graph-capture", "failed before ready"
	l.Milestones = l.Milestones[:3]
	l.Symptoms = []finding.SymptomMsg{{Title: "ended", Evidence: onLine(90)}}
	l.Findings = []finding.FindingMsg{{
		Rank: 1, ID: "GEN-X-001", Role: "cause", Severity: finding.Error, Confidence: finding.Likely, Title: "no kernel",
		Evidence: []finding.Evidence{{Kind: "log", File: "x.log", Line: 80, Text: "RuntimeError: no kernel in trtllm_mha for this GPU"}},
	}}
	return l
}

func (l *Launch) set(name string, change func(*finding.SettingMsg)) {
	change(setting(l, name))
}

// rows writes differences as "weight kind name: good | bad (why)".
func rows(c *Comparison) []string {
	var out []string
	for _, d := range c.Differences {
		s := string(d.Weight) + " " + d.Kind + " " + d.Name + ": " + d.Good + " | " + d.Bad
		if d.Why != "" {
			s += " (" + d.Why + ")"
		}
		out = append(out, s)
	}
	return out
}

// parted are the rows of worked and broke themselves.
var parted = []string{
	"decisive milestone captured: reached | not reached",
	"decisive outcome outcome: ok | failed",
	"decisive finding GEN-X-001:  | likely: no kernel (BAD's first cause, which GOOD does not show)",
}

func TestCompare(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(good, bad *Launch)
		want   []string // after the rows of parted
	}{
		{"nothing else differs", func(_, _ *Launch) {}, nil},
		{"a new release chooses another backend, which the traceback names", func(_, bad *Launch) {
			bad.EngineVersion = "0.5.10"
			bad.set("attention_backend", func(s *finding.SettingMsg) { s.Effective = "trtllm_mha" })
		}, []string{
			"suspicious version engine version: 0.5.9 | 0.5.10",
			"suspicious choice attention_backend: fa3 | trtllm_mha (the lines of BAD's first cause (GEN-X-001) name its value)",
		}},
		{"a remedy changes the flag", func(_, bad *Launch) {
			bad.set("chunked_prefill_size", func(s *finding.SettingMsg) { s.Effective = "2048" })
			bad.Findings[0].Remedies = []finding.Remedy{{Changes: []finding.Change{{Kind: "flag", Name: "--chunked-prefill-size", To: ptr("4096")}}}}
		}, []string{"suspicious setting chunked_prefill_size: 8192 | 2048 (a remedy of BAD's first cause (GEN-X-001) changes it)"}},
		{"an explanation names the setting with blanks", func(_, bad *Launch) {
			bad.set("mem_fraction_static", func(s *finding.SettingMsg) { s.Effective, s.Asked.Value = "0.95", ptr("0.95") })
			bad.Findings[0].Why = "mem fraction static is too high"
		}, []string{"suspicious setting mem_fraction_static: 0.85 | 0.95 (BAD's first cause (GEN-X-001) names it)"}},
		{"part of a longer name is no coupling", func(_, bad *Launch) {
			bad.set("mem_fraction_static", func(s *finding.SettingMsg) { s.Effective, s.Asked.Value = "0.95", ptr("0.95") })
			bad.Findings[0].Why = "see draft_mem_fraction_static"
		}, []string{"suspicious setting mem_fraction_static: 0.85 | 0.95"}},
		{"a setting that forced a coupled one", func(good, bad *Launch) {
			for _, l := range []*Launch{good, bad} {
				l.set("attention_backend", func(s *finding.SettingMsg) { s.Coupled = []string{"kv_cache_dtype"} })
			}
			bad.set("attention_backend", func(s *finding.SettingMsg) { s.Effective, s.ChosenBy = "trtllm_mha", "coupling" })
			bad.set("kv_cache_dtype", func(s *finding.SettingMsg) {
				s.Effective, s.ChosenBy, s.Asked.Value = "fp8_e4m3", "user", ptr("fp8_e4m3")
			})
		}, []string{
			"suspicious choice attention_backend: fa3 | trtllm_mha (the lines of BAD's first cause (GEN-X-001) name its value; chosen by the hardware in GOOD, by coupling in BAD; follows from kv_cache_dtype, which differs too)",
			"suspicious setting kv_cache_dtype: auto | fp8_e4m3 (it forced attention_backend: the lines of BAD's first cause (GEN-X-001) name its value; chosen by default in GOOD, by the user in BAD)",
		}},
		{"silent replacement before plain change", func(_, bad *Launch) {
			bad.set("chunked_prefill_size", func(s *finding.SettingMsg) { s.Effective = "2048" })
			bad.set("mem_fraction_static", func(s *finding.SettingMsg) { s.Effective, s.Silent, s.ChosenBy = "0.7", true, "unknown" })
		}, []string{
			"suspicious setting mem_fraction_static: 0.85 | 0.7 (BAD asked for 0.85 and got something else without being told)",
			"suspicious setting chunked_prefill_size: 8192 | 2048",
		}},
		{"the default of another release", func(_, bad *Launch) {
			bad.EngineVersion = "0.5.10"
			bad.set("chunked_prefill_size", func(s *finding.SettingMsg) { s.Effective = "16384" })
		}, []string{
			"suspicious version engine version: 0.5.9 | 0.5.10",
			"suspicious setting chunked_prefill_size: 8192 | 16384 (nobody asked: the release's default changed)",
		}},
		{"amounts: half, a little, hardly", func(good, bad *Launch) {
			bad.Facts[0].Value = "100,000"
			bad.Facts[1].Value = "28.0"
			good.Facts = append(good.Facts, finding.FactEntry{Key: "mem.weights_gb", Value: "27.70"})
			bad.Facts = append(bad.Facts, finding.FactEntry{Key: "mem.weights_gb", Value: "27.71"})
		}, []string{
			"suspicious fact kv.tokens: 200000 | 100,000 (BAD has 0.50 times GOOD's)",
			"note fact mem.avail_gb at loaded: 30.0 GB | 28.0 GB (BAD has 0.93 times GOOD's)",
		}},
		{"a fact that a setting told already", func(_, bad *Launch) {
			bad.Facts[2].Value = "fp8_e4m3"
			bad.Settings[1].Effective = "fp8_e4m3"
			bad.Settings[1].ChosenBy = "checkpoint"
		}, []string{
			"suspicious setting kv_cache_dtype: auto | fp8_e4m3 (chosen by default in GOOD, by the checkpoint in BAD)",
			"suspicious fact kv.dtype: bfloat16 | fp8_e4m3",
		}},
		{"ports, seeds and temporary paths", func(good, bad *Launch) {
			good.Settings = append(good.Settings,
				finding.SettingMsg{Name: "nccl_port", Effective: "41001"}, finding.SettingMsg{Name: "random_seed", Effective: "1"},
				finding.SettingMsg{Name: "cache_dir", Effective: "/tmp/tmpab12cd34/x"}, finding.SettingMsg{Name: "max_lora_rank", Effective: "16"})
			bad.Settings = append(bad.Settings,
				finding.SettingMsg{Name: "nccl_port", Effective: "53555"}, finding.SettingMsg{Name: "random_seed", Effective: "2"},
				finding.SettingMsg{Name: "cache_dir", Effective: "/tmp/tmpzz99yy88/x"}, finding.SettingMsg{Name: "max_lora_rank", Effective: "32"})
		}, []string{"suspicious setting max_lora_rank: 16 | 32"}},
		{"asked for, and chosen by itself: one value", func(_, bad *Launch) {
			bad.set("attention_backend", func(s *finding.SettingMsg) { s.Asked.Value, s.ChosenBy = ptr("fa3"), "user" })
		}, []string{"note command attention_backend:  | fa3 (asked for differently; fa3 ran in both)"}},
		{"asked for in one only", func(_, bad *Launch) {
			bad.Settings = append(bad.Settings, finding.SettingMsg{Name: "enable_torch_compile", Asked: finding.Asked{Known: true, Value: ptr("True")}, Effective: "True", ChosenBy: "user"})
		}, []string{"suspicious setting enable_torch_compile:  | True (asked for in BAD only)"}},
		{"a choice that GOOD made after BAD's end", func(good, _ *Launch) {
			good.Settings = append(good.Settings, finding.SettingMsg{Name: "sampling_backend", Effective: "flashinfer", ChosenBy: "hardware", Choice: "SGL-X", Because: onLine(35)})
		}, nil},
		{"a choice that only GOOD's log tells", func(good, _ *Launch) {
			good.Settings = append(good.Settings, finding.SettingMsg{Name: "sampling_backend", Effective: "flashinfer", ChosenBy: "hardware", Choice: "SGL-X", Because: onLine(7)})
		}, []string{"note choice sampling_backend: flashinfer |  (told by GOOD's log only)"}},
		{"a choice that BAD did not come to", func(_, bad *Launch) {
			bad.set("attention_backend", func(s *finding.SettingMsg) { s.Effective, s.Choice, s.ChosenBy = "None", "", "default" })
		}, []string{"note choice attention_backend: fa3 | None (BAD's log does not tell what was chosen)"}},
		{"another model, another GPU", func(_, bad *Launch) { bad.Model, bad.Hardware = "acme/Heron-32B", "1x L4" }, []string{
			"suspicious hardware hardware: 1x H100 | 1x L4",
			"suspicious model model: acme/Heron-14B | acme/Heron-32B",
		}},
		{"the same model elsewhere", func(_, bad *Launch) { bad.Model = "/srv/models/Heron-14B" }, []string{
			"note model model: acme/Heron-14B | /srv/models/Heron-14B (the same name in another place)",
		}},
		{"slow, and very slow phases", func(good, bad *Launch) {
			bad.Milestones[1].Seconds = 30
			bad.Milestones[2].Seconds = 90
		}, []string{
			"suspicious phase-time loaded -> KV sized: 10.0 s | 60.0 s (BAD took 6.0 times as long; caches that were warm or cold are the usual reason)",
			"note phase-time loading -> loaded: 10.0 s | 30.0 s (BAD took 3.0 times as long; caches that were warm or cold are the usual reason)",
		}},
		{"findings of less rank", func(good, bad *Launch) {
			bad.Findings = append(bad.Findings,
				finding.FindingMsg{Rank: 2, ID: "GEN-Y", Role: "cause", Severity: finding.Error, Confidence: finding.Possible, Title: "y"},
				finding.FindingMsg{Rank: 3, ID: "GEN-Z", Role: "consequence", Severity: finding.Error, Title: "z"},
				finding.FindingMsg{Rank: 4, ID: "GEN-I", Role: "latent", Severity: finding.Info, Confidence: finding.Likely, Title: "i"})
			good.Findings = []finding.FindingMsg{{ID: "GEN-G", Role: "latent", Severity: finding.Warning, Confidence: finding.Likely, Title: "g"}}
		}, []string{
			"suspicious finding GEN-Y:  | possible: y (in BAD only)",
			"note finding GEN-I:  | likely: i (in BAD only)",
			"note finding GEN-G: likely: g |  (in GOOD only)",
		}},
		{"a milestone that one release prints no more", func(_, bad *Launch) { bad.Milestones = slices.Delete(bad.Milestones, 1, 2) }, []string{
			"note milestone loaded: reached |  (left out by the other launch, which came further)",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			good, bad := worked(), broke()
			tc.change(good, bad)
			got := rows(Compare(good, bad, nil))
			if len(got) < len(parted) {
				t.Fatalf("differences: %q", got)
			}
			if diff := cmp.Diff(parted, got[:len(parted)]); diff != "" {
				t.Errorf("where they part (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got[len(parted):len(got):len(got)], cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	stopped := broke()
	stopped.Outcome = finding.Stopped
	nowhere := broke()
	nowhere.Milestones = nil
	later := worked()
	later.Outcome, later.Phase = finding.ReadyThenFailed, "decode"
	for _, tc := range []struct {
		name      string
		good, bad *Launch
		want      string
		relevant  bool
	}{
		{"failed", worked(), broke(), "parts after KV sized: GOOD went on to ready, BAD failed in graph-capture", true},
		{"swapped", broke(), worked(), "parts after KV sized: GOOD failed in graph-capture, BAD went on to ready", true},
		{"stopped", worked(), stopped, "parts after KV sized: GOOD went on to ready, BAD was stopped from outside", true},
		{"after ready", worked(), later, "parts after ready: GOOD stayed healthy, BAD failed after ready in decode", true},
		{"no milestone", worked(), nowhere, "no milestone in common: GOOD went on to ready, BAD failed in graph-capture", true},
		{"same", worked(), worked(), "both came to ready", false},
		{"same failure", broke(), broke(), "both came to KV sized", false},
	} {
		got := Compare(tc.good, tc.bad, nil)
		if got.Head.Verdict != tc.want || got.Relevant() != tc.relevant {
			t.Errorf("%s: %q, relevant %v; want %q, %v", tc.name, got.Head.Verdict, got.Relevant(), tc.want, tc.relevant)
		}
	}
}

func TestNotes(t *testing.T) {
	shared := worked()
	shared.Findings = broke().Findings
	cut := worked()
	cut.Cut = true
	other := worked()
	other.Engine = "vllm"
	for _, tc := range []struct {
		name      string
		good, bad *Launch
		want      string
	}{
		{"nothing in the logs", worked(), broke(), "look at what they don't show"},
		{"cause in both", shared, broke(), "GOOD shows BAD's first cause as well (GEN-X-001)"},
		{"cut report", cut, broke(), "GOOD is a report whose end is missing"},
		{"engines", other, broke(), "the engines differ"},
		{"swapped", broke(), worked(), "are they swapped?"},
	} {
		notes := strings.Join(Compare(tc.good, tc.bad, nil).Head.Notes, "\n")
		if !strings.Contains(notes, tc.want) {
			t.Errorf("%s: notes %q lack %q", tc.name, notes, tc.want)
		}
	}
}

// TestNext checks which settings are put back, and how.
func TestNext(t *testing.T) {
	for _, tc := range []struct {
		name    string
		setting finding.SettingMsg
		good    string
		argv    string // of BAD behind the program
		want    string // the last words of the script, "" for no remedy
	}{
		{"a value", finding.SettingMsg{Name: "attention_backend", Effective: "trtllm_mha"}, "fa3", "--tp 2", "--tp 2 --attention-backend fa3"},
		{"a value that BAD asked for", finding.SettingMsg{Name: "kv_cache_dtype", Asked: finding.Asked{Known: true, Value: ptr("fp8_e4m3")}, Effective: "fp8_e4m3"}, "bf16", "--kv-cache-dtype fp8_e4m3 --tp 2", "--kv-cache-dtype bf16 --tp 2"},
		{"a switch to take away", finding.SettingMsg{Name: "disable_cuda_graph", Asked: finding.Asked{Known: true, Value: ptr("True")}, Effective: "True"}, "False", "--disable-cuda-graph --tp 2", "--tp 2"},
		{"a switch to add", finding.SettingMsg{Name: "disable_cuda_graph", Effective: "False"}, "True", "--tp 2", "--tp 2 --disable-cuda-graph"},
		{"a switch that nobody gave", finding.SettingMsg{Name: "disable_cuda_graph", Effective: "True"}, "False", "--tp 2", ""},
		{"no flag", finding.SettingMsg{Name: "some_internal_field", Effective: "1"}, "2", "--tp 2", ""},
		{"no argument", finding.SettingMsg{Name: "attention_backend", Effective: "x"}, "<Backend.FA3>", "--tp 2", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			good, bad := worked(), broke()
			bad.Command = append([]string{"python", "-m", "sglang.launch_server", "--model-path", "m"}, strings.Fields(tc.argv)...)
			then := tc.setting
			then.Effective, then.Asked = tc.good, finding.Asked{Known: true, Value: &tc.good}
			good.Settings, bad.Settings = []finding.SettingMsg{then}, []finding.SettingMsg{tc.setting}
			var next *finding.Remedy
			for _, d := range Compare(good, bad, nil).Differences {
				if d.Name == tc.setting.Name {
					next = d.Next
				}
			}
			switch {
			case next == nil && tc.want == "":
			case next == nil:
				t.Error("no remedy")
			case tc.want == "":
				t.Errorf("remedy %q", next.Script)
			case !strings.HasSuffix(strings.Join(next.Command, " "), "--model-path m "+tc.want) || next.Script == "":
				t.Errorf("command %q\nscript %q, want ... %s", next.Command, next.Script, tc.want)
			}
		})
	}
}

// TestLedgerNames checks that a setting is found by the flag that writes it.
func TestLedgerNames(t *testing.T) {
	eng := &engine.Engine{Name: "vllm", Names: map[string]string{"kv_cache_dtype": "cache.cache_dtype"}}
	good, bad := worked(), broke()
	good.Engine, good.EngineVersion = "vllm", "0.11.0"
	bad.Engine, bad.EngineVersion = "vllm", "0.11.0"
	bad.Command = []string{"vllm", "serve", "m"}
	good.Settings = []finding.SettingMsg{{Name: "cache.cache_dtype", Effective: "auto", Asked: finding.Asked{Known: true, Value: ptr("auto")}}}
	bad.Settings = []finding.SettingMsg{{Name: "cache.cache_dtype", Effective: "fp8", ChosenBy: "checkpoint"}}
	bad.Findings[0].Why = "Pass --kv-cache-dtype auto."
	d := Compare(good, bad, eng).Differences[len(parted)]
	if d.Name != "cache.cache_dtype" || !strings.Contains(d.Why, "names it") || d.Next == nil || !slices.Contains(d.Next.Command, "--kv-cache-dtype") {
		t.Errorf("difference %+v", d)
	}
}

// TestFlags compares commands of an engine without a table of flags.
func TestFlags(t *testing.T) {
	good, bad := worked(), broke()
	for _, l := range []*Launch{good, bad} {
		l.Engine, l.EngineVersion, l.Settings = "llamacpp", "b6700", nil
	}
	good.Command = strings.Fields("llama-server -m a.gguf -c 8192 -fa on --port 1 --temp -0.5 --api-key ***")
	bad.Command = strings.Fields("llama-server -m a.gguf -c 32768 --port 2 --temp -0.5 --jinja")
	c := Compare(good, bad, nil)
	want := append(slices.Clone(parted),
		"suspicious command --jinja:  | given", "suspicious command -c: 8192 | 32768", "suspicious command -fa: on | ")
	if diff := cmp.Diff(want, rows(c)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if next := c.Differences[4].Next; next == nil || !strings.Contains(next.Script, "-c 8192") {
		t.Errorf("next %+v", next)
	}
}

func TestSameValue(t *testing.T) {
	for _, same := range [][2]string{{"None", ""}, {"True", "true"}, {"8", "8.0"}, {"'auto'", "auto"}, {"torch.bfloat16", "bfloat16"}, {"1,024", "1024"}} {
		if !sameValue(same[0], same[1]) {
			t.Errorf("%q and %q differ", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{"None", "0"}, {"True", "False"}, {"8", "80"}, {"fa3", "fa2"}} {
		if sameValue(other[0], other[1]) {
			t.Errorf("%q and %q are the same", other[0], other[1])
		}
	}
	for _, other := range [][2]string{{"/models/a-2507", "/models/a-2512"}, {"tcp://10.0.0.1:1", "tcp://10.0.0.2:1"}} {
		if sameButTemporary(other[0], other[1]) {
			t.Errorf("%q and %q count as temporary", other[0], other[1])
		}
	}
	if !sameButTemporary("tcp://10.0.0.1:41001", "tcp://10.0.0.1:53555") {
		t.Error("the ports of an address count")
	}
}
