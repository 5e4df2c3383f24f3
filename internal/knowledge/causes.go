package knowledge

// Class is a class of root causes. The rule of choice: the first cause that has
// its own remedy, not the place where it surfaces.
type Class struct {
	Name  string
	Title string // two or three words for people
	Meta  bool   // says something about the log, not about a fault
}

// Classes lists the classes of root causes in a fixed order, the meta classes
// last.
var Classes = []Class{
	{Name: "numerics-nan", Title: "NaN or Inf in the arithmetic"},
	{Name: "numerics-garbage", Title: "finite but wrong results"},
	{Name: "kernel-unsupported", Title: "no kernel for this GPU or shape"},
	{Name: "kernel-resources", Title: "kernel tile too big for this GPU"},
	{Name: "illegal-memory-access", Title: "illegal memory access"},
	{Name: "checkpoint-format", Title: "checkpoint laid out differently"},
	{Name: "checkpoint-incomplete", Title: "checkpoint incomplete"},
	{Name: "parallel-shape", Title: "shape does not divide"},
	{Name: "auto-selection", Title: "automatic choice is wrong"},
	{Name: "override-ignored", Title: "setting had no effect"},
	{Name: "kv-cache-dtype", Title: "KV cache format"},
	{Name: "oom-weights", Title: "weights do not fit"},
	{Name: "oom-kv-cache", Title: "no memory for the KV cache"},
	{Name: "oom-graph-capture", Title: "out of memory at graph capture"},
	{Name: "oom-runtime", Title: "out of memory while computing"},
	{Name: "oom-host", Title: "out of main memory"},
	{Name: "memory-taken", Title: "GPU memory held by others"},
	{Name: "host-limits", Title: "limit of host or container"},
	{Name: "dependency-missing", Title: "package not installed"},
	{Name: "dependency-mismatch", Title: "packages do not fit"},
	{Name: "version-too-old", Title: "version too old"},
	{Name: "version-regression", Title: "regression of a release"},
	{Name: "driver-mismatch", Title: "driver does not fit"},
	{Name: "jit-compile", Title: "kernel compilation"},
	{Name: "compile-cache", Title: "stale compile cache"},
	{Name: "graph-capture", Title: "graph capture"},
	{Name: "distributed-init", Title: "ranks cannot meet"},
	{Name: "distributed-hang", Title: "collective hangs"},
	{Name: "hang", Title: "server makes no progress"},
	{Name: "hardware-fault", Title: "hardware fault"},
	{Name: "spec-decode", Title: "speculative decoding"},
	{Name: "pd-disaggregation", Title: "prefill/decode transfer"},
	{Name: "limit-exceeded", Title: "larger than a limit"},
	{Name: "output-parsing", Title: "template or parser"},
	{Name: "invalid-argument", Title: "invalid argument"},
	{Name: "hf-access", Title: "files cannot be fetched"},
	{Name: "server-bug", Title: "defect of the server"},
	{Name: "none", Title: "healthy", Meta: true},
	{Name: "stopped-by-user", Title: "stopped from outside", Meta: true},
	{Name: "unclear", Title: "the log does not show the cause", Meta: true},
}

var classByName = func() map[string]*Class {
	m := make(map[string]*Class, len(Classes))
	for i := range Classes {
		m[Classes[i].Name] = &Classes[i]
	}
	return m
}()

func classNames() []string {
	names := make([]string, len(Classes))
	for i := range Classes {
		names[i] = Classes[i].Name
	}
	return names
}
