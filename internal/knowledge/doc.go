// Package knowledge holds the rules: documented failure patterns as data, one
// folder each, and the judge that applies them to a launch. Judging is a pure
// function of the launch's facts: no clock, no network, no files (the rules are
// embedded, or read by the caller and handed in as an fs.FS).
//
// # A rule
//
// A rule is a folder knowledge/rules/<area>/<ID>/ with rule.yaml and testdata/
// (hit*.log: the rule must be a finding there; miss*.log: it must not).
// Unknown keys are errors. The language filters; whatever needs an "if" beyond
// it is a named check in Go (checks.go).
//
//	id: SGL-NUM-003                # <engine>-<area>-<number>; GEN for any engine, USR for your own rules
//	title: DeepGEMM reads FP32 scales as UE8M0
//	why: >                         # plain words, for a tired reader
//	  ...
//	cause: numerics-nan            # a class of causes.go
//	severity: error                # error | warning | info
//	role: cause                    # see below
//	confidence: likely             # when the lines match and the conditions hold
//	basis: the warning names the mismatch ...   # why this confidence
//	engines: {sglang: ">=0.5.6 <0.6"}   # missing: any engine; "" any version
//	since: "0.1"                   # release of shakedown that brought the rule
//	lines:                         # any one of these; the best match leads the evidence
//	  - anchor: scale_fmt of checkpoint is not ue8m0    # literal, >= 6 bytes, case-sensitive
//	    regex: '...(?P<name>...)'  # optional, RE2, on the line without prefix; groups become captures
//	    in: [log, exception]       # default: log, exception, output. See "Where"
//	    phase: [load, kv-alloc]    # phase of the launch at that line; default any
//	also:                          # each must be found somewhere in the launch; further evidence
//	  - anchor: ...
//	not:                           # none of these may be found in the launch
//	  - anchor: ...
//	frames: [cuda_graph_runner]    # each occurs in a file or function of the matching exception's traceback
//	no_frames: [sampler]           # none of these does
//	when:                          # all must hold
//	  - {fact: gpu.sm, in: ["12.0", "12.1"]}
//	  - {fact: mem.avail_gb, below: 2}       # below, above: numbers
//	  - {setting: kv_cache_dtype, is: fp8_e4m3}   # effective value; is, in, not
//	  - {asked: kv_cache_dtype, is: "yes"}   # yes | no | unknown
//	  - {outcome: [failed, ready-then-failed]}
//	  - {phase: [decode]}                    # where the launch ended
//	  - {capture: need, above: have}         # compare two captures, or a capture and a number
//	  - {version: ">=0.5.10"}
//	  - {check: oom-other-process}           # a named Go check
//	strengthen:                    # first that holds replaces confidence and basis
//	  - {when: [...], confidence: proven, basis: ...}
//	plan:                          # before the launch: first that holds makes it known trouble; see "Before the launch"
//	  - {when: [...], confidence: likely, basis: ...}
//	depends_on: [GEN-CUDA-001]     # when one of these is found, this is its consequence
//	explains: [GEN-OOM-001]        # this is the root of those, although its line is only a warning
//	remedies:                      # best first
//	  - title: ...
//	    set: {--kv-cache-dtype: bf16}        # flags; value "" for a switch
//	    unset: [--enable-foo]
//	    env: {SGLANG_ENABLE_JIT_DEEPGEMM: "0"}
//	    price: ...
//	    text: ...                  # what to do when it is no change of the command
//	    decides: [SGL-KV-002]      # findings that this launch separates from this one
//	decide: [ ... ]                # what would decide, when not proven
//	sources: [https://..., "sglang 19948"]
//
// # Roles
//
//	cause        an error that stops or spoils the server; competes for rank 1
//	latent       a fault in a server that goes on (an override without effect); kept on healthy launches
//	suspect      a warning that may be the cause of a failure; kept only when the launch failed in a
//	             compatible way (a symptom, or a finding listed in explains)
//	symptom      what the user sees; the cause stands elsewhere
//	consequence  follows from another failure whenever there is one
//	exonerate    looks guilty and is not; shown under NOT IT, never a finding
//
// # Where
//
//	log        a record's own line (with or without prefix)
//	exception  the final line(s) of a traceback: "Type: message" and its continuation lines
//	output     an unprefixed line that is part of no traceback (native output, compiler errors, shell)
//	frame      a traceback's File line
//	source     a traceback's source line
//
// Config dumps, command lines and prose outside a launch are never searched:
// dumps and commands are known as settings.
//
// # Before the launch
//
// A launch that was not started has no lines, no phase and no outcome; its
// settings are foreseen by the engine's resolver, its facts are those of GPU and
// checkpoint. Foresee applies a rule to it when one of its plan conditions
// holds, or when the rule has no lines and its conditions (when) ask about
// settings, facts and versions only. Conditions of plan may use fact, setting,
// asked, version and the check sm12x; settings include what the engine decides
// later, by the resolver's names (deepgemm.scale_ue8m0). A rule with plan and
// neither lines nor when is known before a launch only.
//
// # Ranking
//
// A launch that is ok keeps only latent findings. Otherwise causes compete:
// a finding that explains another is above it; then the earliest failing
// process and line wins (a wrapper is never a cause); on the same exception the
// specific rule beats the generic one (GEN-EXC-*). See judge.go.
package knowledge
