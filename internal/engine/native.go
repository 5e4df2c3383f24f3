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

	{ID: "NATIVE-SYSTEMD-KILLED", Kind: Fatal, Anchor: "Main process exited, code=killed, status=", Patterns: []string{
		"code=killed, status=9/KILL", "code=killed, status=11/SEGV", "code=killed, status=6/ABRT", "code=killed, status=7/BUS", "code=killed, status=4/ILL", "code=killed, status=8/FPE",
	}, Title: "a signal ended the server", Source: "systemd src/core/service.c"},
	{ID: "NATIVE-SYSTEMD-DUMPED", Kind: Fatal, Anchor: "Main process exited, code=dumped, status=", Title: "a signal ended the server", Source: "systemd src/core/service.c"},
	{
		ID: "NATIVE-SYSTEMD-EXITED", Kind: Fatal, Anchor: "Main process exited, code=exited, status=",
		Patterns: []string{"code=exited, status=<code>/"}, Title: "the server exited with an error code", Source: "systemd src/core/service.c",
	},
	{
		ID: "NATIVE-COMPOSE-EXITED", Kind: Fatal, Anchor: " exited with code ",
		Patterns: []string{"<service> exited with code <code> (restarting)", "<service> exited with code <code>"}, Title: "the server's container exited with an error code", Source: "docker compose",
	},
	{ID: "NATIVE-OOM-KILLER", Kind: Fatal, Anchor: "Killed process ", Patterns: []string{
		"Killed process <pid> (python", "Killed process <pid> (pt_main_thread", "Killed process <pid> (vllm", "Killed process <pid> (VLLM", "Killed process <pid> (sglang",
		"Killed process <pid> (ray::", "Killed process <pid> (llama-", "Killed process <pid> (trtllm", "Killed process <pid> (tritonserver", "Killed process <pid> (lmdeploy",
	}, Title: "the kernel killed a process", Source: "linux mm/oom_kill.c"},
	{ID: "NATIVE-XID", Kind: Fatal, Anchor: "NVRM: Xid (", Patterns: []string{
		"NVRM: Xid (<gpu>): 79,", "NVRM: Xid (<gpu>): 48,", "NVRM: Xid (<gpu>): 95,", "NVRM: Xid (<gpu>): 119,",
	}, Title: "the driver lost a GPU", Source: "https://docs.nvidia.com/deploy/xid-errors/"},
}

// OrderlyCode says whether an exit code is that of a server that was told to
// end: 0, or the shell's number for SIGINT or SIGTERM.
func OrderlyCode(code string) bool { return code == "0" || code == "130" || code == "143" }
