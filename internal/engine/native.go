package engine

// Native are the lines with which the operating system, the C library or the
// Python interpreter reports the death of a process, whatever engine it runs.
// They say that it died and hardly ever why.
var Native = []Line{
	{ID: "NATIVE-ABORTED", Kind: Fatal, Anchor: "Aborted (core dumped)", Title: "a process aborted itself", Source: "shell"},
	{ID: "NATIVE-SEGFAULT", Kind: Fatal, Anchor: "Segmentation fault (core dumped)", Title: "a process died of a segmentation fault", Source: "shell"},
	{ID: "NATIVE-SEGFAULT-SIGNAL", Kind: Fatal, Anchor: "Signal: Segmentation fault (11)", Title: "a process died of a segmentation fault", Source: "Open MPI"},
	{ID: "NATIVE-BUS", Kind: Fatal, Anchor: "Bus error (core dumped)", Title: "a process died of a bus error", Source: "shell"},
	{ID: "NATIVE-ILLEGAL", Kind: Fatal, Anchor: "Illegal instruction (core dumped)", Title: "a process died of an illegal instruction", Source: "shell"},
	{ID: "NATIVE-PYTHON", Kind: Fatal, Anchor: "Fatal Python error: ", Title: "the Python interpreter died", Source: "CPython faulthandler"},
	{ID: "NATIVE-TERMINATE", Kind: Fatal, Anchor: "terminate called after throwing an instance of ", Title: "an exception that nobody caught ended a process", Source: "libstdc++"},
	{ID: "NATIVE-TERMINATE-BARE", Kind: Fatal, Anchor: "terminate called without an active exception", Title: "a thread was left running at the end of a process", Source: "libstdc++"},
	{ID: "NATIVE-DOUBLE-FREE", Kind: Fatal, Anchor: "double free or corruption", Title: "the C library found a damaged heap", Source: "glibc malloc"},
	{ID: "NATIVE-FREE", Kind: Fatal, Anchor: "free(): ", Patterns: []string{"free(): <what>"}, Title: "the C library found a damaged heap", Source: "glibc malloc"},
	{ID: "NATIVE-CORRUPTED", Kind: Fatal, Anchor: "corrupted size vs. prev_size", Title: "the C library found a damaged heap", Source: "glibc malloc"},
	{ID: "NATIVE-SMASHED", Kind: Fatal, Anchor: "*** stack smashing detected ***", Title: "a process overwrote its stack", Source: "gcc"},
	{ID: "NATIVE-KILLED", Kind: Fatal, Anchor: "Killed", Alone: true, Title: "a process was killed", Source: "shell"},
	{ID: "NATIVE-KILLED-SCRIPT", Kind: Fatal, Anchor: " Killed  ", Patterns: []string{": line <n>: <pid> Killed "}, Title: "a process was killed", Source: "shell, of a script"},
}
