package logstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const (
	dockerLog = `{"log":"INFO 04-16 10:31:19 [a.py:1] caf\u00e9 \"x\"\r\n","stream":"stderr","time":"2026-04-16T10:31:19.1Z"}
{"log":"first half, ","stream":"stderr","time":"2026-04-16T10:31:20.1Z"}
{"log":"second half\n","stream":"stderr","time":"2026-04-16T10:31:20.2Z"}
not wrapped
{"log":"unfinished","stream":"stdout","time":"2026-04-16T10:31:21.1Z"}
{"log":"C:\\n\n","stream":"stderr","attrs":{"tag":"x"},"time":"2026-04-16T10:31:22.1Z"}
`
	criLog = `2026-04-16T10:31:19.000000001Z stderr F [2026-04-16 10:31:19] hello
2026-04-16T10:31:20.000000001+02:00 stdout P long 
2026-04-16T10:31:20.000000002+02:00 stdout F line
2026-04-16T10:31:21Z stderr F
`
	gcpLog = `export of pod infer-0
ERROR 2026-04-05T00:01:19.209237575Z [2026-04-05 00:01:19] Received sigquit from a child process.
ERROR 2026-04-05T00:01:19.20Z {}
ERROR 2026-04-05T00:01:18.5Z ValueError: head_dim 96
continued
INFO 2026-04-05T00:01:18.4Z Traceback (most recent call last):
ERROR 2026-04-05T00:01:17Z [2026-04-05 00:01:17] Load weight begin.
`
	composeLog = "\x1b[36mvllm-1   |\x1b[0m INFO 04-16 10:31:19 [a.py:1] one\n" +
		"Loading shards:  50% Completed | 1/2 [00:01<00:01,  1.00s/it]\n" +
		"\x1b[36mvllm-1   | \x1b[0m\x1b[1;36m(EngineCore pid=9)\x1b[0;0m two\n" +
		"vllm-1   | three\n" +
		"router-1 | four\n" +
		"vllm-1   |\n"
	quotedLog = `> vllm-1  | 2026-04-16T10:31:19.1Z one
> vllm-1  | 2026-04-16T10:31:19.2Z two
>
> vllm-1  | 2026-04-16T10:31:19.3Z three
> vllm-1  | 2026-04-16T10:31:19.4Z four
`
	markdownLog = "### It crashes\n\nIt says `ValueError`.\n\n```bash\nvllm serve m\n```\n\n- log:\n  ~~~text\n```\nValueError: x\n  ~~~\n\nThanks!\n" +
		"INFO 04-16 10:31:19 [a.py:1] loose\nunprefixed\n# Environment\ntorch 2.9\n"
	journalLog = `-- Journal begins at Mon 2026-11-02 --
Nov 29 13:46:47 gpu-01 vllm[123]: INFO 11-29 13:46:47 [a.py:1] one
Nov  9 13:46:47.123456 gpu-01 vllm[123]: [101B blob data]
Nov 29 13:46:48 gpu-01 kernel: Out of memory: Killed process 123 (python3)
`
	notebookLog = `{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {"source": "no"},
   "source": ["# Serve \"it\"\n", "now"]
  },
  {
   "cell_type": "code",
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "\u001b[32mINFO\u001b[0m:     Started\r\n",
      "two\nlines\n"
     ]
    },
    {"output_type": "display_data", "data": {"text/plain": "plain", "image/png": "iVBO"}},
    {"output_type": "error", "ename": "E", "traceback": ["tb"]}
   ],
   "source": [
    "!vllm serve m"
   ]
  }
 ],
 "nbformat": 4
}
`
	fluentLog = `{"time": "2026-04-16T10:31:19.1Z", "stream": "stderr", "log": "one\n", "kubernetes": {"log": "no", "labels": ["}", "\""]}}
{"message":"Traceback:\n  File \"x\"\n"}
not wrapped
{"ts": 1776335480.5, "msg" : "three"}
  {"severity":"ERROR","jsonPayload":{"msg":"no","message":"four"}},
{"level": "info", "messages": []}
{"textPayload":"five"}
`
	journalJSON = `{"__REALTIME_TIMESTAMP":"1776335479100000","MESSAGE":"one","SYSLOG_IDENTIFIER":"python3","_SYSTEMD_UNIT":"vllm.service"}
{"MESSAGE":[27,91,48,109,116,119,111],"SYSLOG_IDENTIFIER":"vllm","__REALTIME_TIMESTAMP":"1776335479200000"}
{"MESSAGE":"three"}
`
	lokiLog = `{"labels":{"app":"vllm"},"line":"one","timestamp":"2026-04-16T10:31:19Z"}
{"labels":{"app":"vllm"},"line":"two","timestamp":"2026-04-16T10:31:20Z"}
{"_raw":"three"}
`
	sternLog = "+ infer-7d9c5b8f6d-x2k4p › vllm\n" +
		"infer-7d9c5b8f6d-x2k4p vllm one\n" +
		"infer-7d9c5b8f6d-x2k4p vllm   File \"x\"\n" +
		"infer-7d9c5b8f6d-x2k4p vllm two\n" +
		"infer-7d9c5b8f6d-x2k4p vllm\n" +
		"infer-7d9c5b8f6d-x2k4p vllm three\n"
	// Two pods whose names were hidden, as stern -A shows them in colour.
	sternColourLog = "\x1b[92m+\x1b[0m \x1b[36mprod\x1b[0m \x1b[36mvllm-7c9d8-abcde\x1b[0m › \x1b[90mvllm\x1b[0m\n" +
		"\x1b[36mprod\x1b[0m \x1b[36mvllm-7c9d8-abcde\x1b[0m \x1b[90mvllm\x1b[0m one\n" +
		"\x1b[36mprod\x1b[0m \x1b[32mvllm-7c9d8-fghij\x1b[0m \x1b[90mvllm\x1b[0m   two\n" +
		sternColourTail + sternColourTail + sternColourTail +
		"\x1b[31m-\x1b[0m \x1b[36mprod\x1b[0m \x1b[36mvllm-7c9d8-abcde\x1b[0m › \x1b[90mvllm\x1b[0m\n"
	sternColourTail = "\x1b[36mprod\x1b[0m \x1b[36mvllm-7c9d8-abcde\x1b[0m \x1b[90mvllm\x1b[0m x\n" +
		"\x1b[36mprod\x1b[0m \x1b[32mvllm-7c9d8-fghij\x1b[0m \x1b[90mvllm\x1b[0m y\n"
	sternPodsLog = "vllm-7c9d8-abcde vllm one\nvllm-7c9d8-fghij vllm two\n" +
		"vllm-7c9d8-abcde vllm   three\nvllm-7c9d8-fghij vllm four\n" +
		"vllm-7c9d8-abcde vllm\nvllm-7c9d8-fghij vllm six\n" +
		"vllm-7c9d8-abcde vllm seven\nvllm-7c9d8-fghij vllm eight\n"
	kubetailLog = "[infer-7d9c5b8f6d-x2k4p] one\n[infer-7d9c5b8f6d-x2k4p]   two\n[infer-7d9c5b8f6d-x2k4p]\n" +
		"\x1b[32m[infer-7d9c5b8f6d-x2k4p]\x1b[39m four\n"
	podmanLog      = "\x1b[1;32m[vllm]   |\x1b[0m one\n[router] | two\n[vllm]   |   three\n[vllm]   |\n[vllm]   | [1/2] five\n"
	journalFullLog = "Wed 2026-04-29 23:59:59 UTC gpu-17 vllm[1810]: one\n" +
		"Thu 2026-04-30 00:00:00.123456 +03 gpu-17 vllm@1.service[1810]:   two\n" +
		"Thu 2026-04-30 00:00:01 CEST gpu-17 kernel: three\n"
	journalMonotonicLog = "[ 4000.123456] gpu-17 vllm[1810]: one\n[14000.123456] gpu-17 vllm[1810]:   two\n" +
		"[14001.123456] gpu-17 kernel: three\n"
	logcliLog = "2026-05-03T08:11:00Z {app=\"vllm\",pod=\"vllm-0\"} one\n" +
		"2026-05-03T08:11:01Z {app=\"vllm\", container=\"vllm\", level=\"info\", pod=\"vllm-0\"}   two\n" +
		"2026-05-03T08:11:02Z {app=\"a \\\"b\\\" }\",pod=\"vllm-0\"} three\n" +
		"2026-05-03T08:11:03Z {app=\"vllm\",pod=\"vllm-0\"}\n"
	srunLog = " 0: [2026-04-16 10:31:19 TP0] a\n10: Traceback\n 0:   b\n10: c\n 0: d\n10: e\n 0: \n10:\n" +
		"srun: error: node1: task 10: Exited with exit code 1\n"
)

// raws gives each line its physical line as Raw and the offset of that line.
func raws(in string, lines []got) []got {
	physical := strings.Split(in, "\n")
	for i := range lines {
		l := &lines[i]
		l.Raw = physical[l.No-1]
		if l.Raw == l.Text {
			l.Raw = ""
		}
		l.Offset = int64(len(strings.Join(physical[:l.No-1], "\n")))
		if l.No > 1 {
			l.Offset++
		}
	}
	return lines
}

func TestUnwrap(t *testing.T) {
	tests := []struct {
		wrapper string
		in      string
		want    []got
	}{
		{"docker-json", dockerLog, []got{
			{No: 1, Text: `INFO 04-16 10:31:19 [a.py:1] café "x"`, Time: "2026-04-16T10:31:19.1Z"},
			{No: 2, Text: "first half, second half", Time: "2026-04-16T10:31:20.1Z"},
			{No: 4, Text: "not wrapped"},
			{No: 5, Text: "unfinished", Time: "2026-04-16T10:31:21.1Z"},
			{No: 6, Text: `C:\n`, Time: "2026-04-16T10:31:22.1Z"},
		}},
		{"k8s", criLog, []got{
			{No: 1, Text: "[2026-04-16 10:31:19] hello", Time: "2026-04-16T10:31:19.000000001Z"},
			{No: 2, Text: "long line", Time: "2026-04-16T10:31:20.000000001+02:00"},
			{No: 4, Time: "2026-04-16T10:31:21Z"},
		}},
		{"gcp", gcpLog, []got{
			{No: 1, Text: "export of pod infer-0"},
			{No: 7, Text: "[2026-04-05 00:01:17] Load weight begin.", Time: "2026-04-05T00:01:17Z"},
			{No: 6, Text: "Traceback (most recent call last):", Time: "2026-04-05T00:01:18.4Z"},
			{No: 4, Text: "ValueError: head_dim 96", Time: "2026-04-05T00:01:18.5Z"},
			{No: 5, Text: "continued"},
			{No: 3, Time: "2026-04-05T00:01:19.20Z"},
			{No: 2, Text: "[2026-04-05 00:01:19] Received sigquit from a child process.", Time: "2026-04-05T00:01:19.209237575Z"},
		}},
		{"compose", composeLog, []got{
			{No: 1, Text: "INFO 04-16 10:31:19 [a.py:1] one", Origin: "vllm-1"},
			{No: 2, Text: "Loading shards:  50% Completed | 1/2 [00:01<00:01,  1.00s/it]"},
			{No: 3, Text: "\x1b[1;36m(EngineCore pid=9)\x1b[0;0m two", Origin: "vllm-1"},
			{No: 4, Text: "three", Origin: "vllm-1"},
			{No: 5, Text: "four", Origin: "router-1"},
			{No: 6, Origin: "vllm-1"},
		}},
		{"quote+compose+timestamps", quotedLog, []got{
			{No: 1, Text: "one", Origin: "vllm-1", Time: "2026-04-16T10:31:19.1Z"},
			{No: 2, Text: "two", Origin: "vllm-1", Time: "2026-04-16T10:31:19.2Z"},
			{No: 3},
			{No: 4, Text: "three", Origin: "vllm-1", Time: "2026-04-16T10:31:19.3Z"},
			{No: 5, Text: "four", Origin: "vllm-1", Time: "2026-04-16T10:31:19.4Z"},
		}},
		{"markdown", markdownLog, []got{
			{No: 1, Text: "### It crashes", Flags: Prose},
			{No: 2, Flags: Prose},
			{No: 3, Text: "It says `ValueError`.", Flags: Prose},
			{No: 4, Flags: Prose},
			{No: 5, Text: "```bash", Flags: Prose},
			{No: 6, Text: "vllm serve m"},
			{No: 7, Text: "```", Flags: Prose},
			{No: 8, Flags: Prose},
			{No: 9, Text: "- log:", Flags: Prose},
			{No: 10, Text: "  ~~~text", Flags: Prose},
			{No: 11, Text: "```"},
			{No: 12, Text: "ValueError: x"},
			{No: 13, Text: "  ~~~", Flags: Prose},
			{No: 14, Flags: Prose},
			{No: 15, Text: "Thanks!", Flags: Prose},
			{No: 16, Text: "INFO 04-16 10:31:19 [a.py:1] loose"},
			{No: 17, Text: "unprefixed"},
			{No: 18, Text: "# Environment", Flags: Prose},
			{No: 19, Text: "torch 2.9", Flags: Prose},
		}},
		{"journald", journalLog, []got{
			{No: 1, Text: "-- Journal begins at Mon 2026-11-02 --"},
			{No: 2, Text: "INFO 11-29 13:46:47 [a.py:1] one", Time: "Nov 29 13:46:47", Origin: "gpu-01 vllm[123]"},
			{No: 3, Time: "Nov  9 13:46:47.123456", Origin: "gpu-01 vllm[123]"},
			{No: 4, Text: "Out of memory: Killed process 123 (python3)", Time: "Nov 29 13:46:48", Origin: "gpu-01 kernel"},
		}},
		{"journald", "2026-11-29T13:46:47+0000 gpu-01 vllm[123]: one\n", []got{
			{No: 1, Text: "one", Time: "2026-11-29T13:46:47+0000", Origin: "gpu-01 vllm[123]"},
		}},
		{"ipynb", notebookLog, []got{
			{No: 6, Text: `# Serve "it"`, Flags: Prose},
			{No: 6, Text: "now", Flags: Prose},
			{No: 23, Text: "!vllm serve m", Flags: Prose | Command},
			{No: 15, Text: "\x1b[32mINFO\x1b[0m:     Started"},
			{No: 16, Text: "two"},
			{No: 16, Text: "lines"},
			{No: 19, Text: "plain"},
			{No: 20, Text: "tb"},
		}},
		{"ipynb", "            \"\\u001b[32mINFO\\u001b[0m: up\\n\",\n            \"b\"\n", []got{
			{No: 1, Text: "\x1b[32mINFO\x1b[0m: up"},
			{No: 2, Text: "b"},
		}},
		{"kubectl+timestamps", "[pod/infer-0/vllm] 2026-04-16T10:31:19.1Z one\n[pod/infer-1/vllm] 2026-04-16T10:31:19.2Z two\n", []got{
			{No: 1, Text: "one", Time: "2026-04-16T10:31:19.1Z", Origin: "pod/infer-0/vllm"},
			{No: 2, Text: "two", Time: "2026-04-16T10:31:19.2Z", Origin: "pod/infer-1/vllm"},
		}},
		{"timestamps", "2026-04-16T10:31:19.1234567Z ##[group]Run tests\n2026-04-16T10:31:19.123456Z 00O+one\n2026-04-16T10:31:20Z\n", []got{
			{No: 1, Text: "##[group]Run tests", Time: "2026-04-16T10:31:19.1234567Z"},
			{No: 2, Text: "one", Time: "2026-04-16T10:31:19.123456Z"},
			{No: 3, Time: "2026-04-16T10:31:20Z"},
		}},
		{"ci", "test\tRun\t2026-04-16T10:31:19.1234567Z one\n", []got{
			{No: 1, Text: "one", Time: "2026-04-16T10:31:19.1234567Z", Origin: "test"},
		}},
		{"json", fluentLog, []got{
			{No: 1, Text: "one", Time: "2026-04-16T10:31:19.1Z"},
			{No: 2, Text: "Traceback:"},
			{No: 2, Text: `  File "x"`},
			{No: 3, Text: "not wrapped"},
			{No: 4, Text: "three", Time: "1776335480.5"},
			{No: 5, Text: "four"},
			{No: 6, Text: `{"level": "info", "messages": []}`},
			{No: 7, Text: "five"},
		}},
		{"json", journalJSON, []got{
			{No: 1, Text: "one", Time: "1776335479100000", Origin: "vllm.service"},
			{No: 2, Text: "\x1b[0mtwo", Time: "1776335479200000", Origin: "vllm"},
			{No: 3, Text: "three"},
		}},
		{"json", lokiLog, []got{
			{No: 1, Text: "one", Time: "2026-04-16T10:31:19Z"},
			{No: 2, Text: "two", Time: "2026-04-16T10:31:20Z"},
			{No: 3, Text: "three"},
		}},
		{"stern", sternLog, []got{
			{No: 1, Origin: "infer-7d9c5b8f6d-x2k4p › vllm"},
			{No: 2, Text: "one", Origin: "infer-7d9c5b8f6d-x2k4p vllm"},
			{No: 3, Text: `  File "x"`, Origin: "infer-7d9c5b8f6d-x2k4p vllm"},
			{No: 4, Text: "two", Origin: "infer-7d9c5b8f6d-x2k4p vllm"},
			{No: 5, Text: "", Origin: "infer-7d9c5b8f6d-x2k4p vllm"},
			{No: 6, Text: "three", Origin: "infer-7d9c5b8f6d-x2k4p vllm"},
		}},
		{"stern", strings.Repeat("\x1b[36minfer-0\x1b[0m \x1b[90mvllm\x1b[0m one\n", 4), []got{
			{No: 1, Text: "one", Origin: "infer-0 vllm"}, {No: 2, Text: "one", Origin: "infer-0 vllm"},
			{No: 3, Text: "one", Origin: "infer-0 vllm"}, {No: 4, Text: "one", Origin: "infer-0 vllm"},
		}},
		{"stern", strings.Repeat("[infer-0 vllm] one\n", 4), []got{
			{No: 1, Text: "one", Origin: "infer-0 vllm"}, {No: 2, Text: "one", Origin: "infer-0 vllm"},
			{No: 3, Text: "one", Origin: "infer-0 vllm"}, {No: 4, Text: "one", Origin: "infer-0 vllm"},
		}},
		{"stern", sternPodsLog, []got{
			{No: 1, Text: "one", Origin: "vllm-7c9d8-abcde vllm"}, {No: 2, Text: "two", Origin: "vllm-7c9d8-fghij vllm"},
			{No: 3, Text: "  three", Origin: "vllm-7c9d8-abcde vllm"}, {No: 4, Text: "four", Origin: "vllm-7c9d8-fghij vllm"},
			{No: 5, Origin: "vllm-7c9d8-abcde vllm"}, {No: 6, Text: "six", Origin: "vllm-7c9d8-fghij vllm"},
			{No: 7, Text: "seven", Origin: "vllm-7c9d8-abcde vllm"}, {No: 8, Text: "eight", Origin: "vllm-7c9d8-fghij vllm"},
		}},
		{"stern", sternColourLog, []got{
			{No: 1, Origin: "prod vllm-7c9d8-abcde › vllm"},
			{No: 2, Text: "one", Origin: "prod vllm-7c9d8-abcde vllm"}, {No: 3, Text: "  two", Origin: "prod vllm-7c9d8-fghij vllm"},
			{No: 4, Text: "x", Origin: "prod vllm-7c9d8-abcde vllm"}, {No: 5, Text: "y", Origin: "prod vllm-7c9d8-fghij vllm"},
			{No: 6, Text: "x", Origin: "prod vllm-7c9d8-abcde vllm"}, {No: 7, Text: "y", Origin: "prod vllm-7c9d8-fghij vllm"},
			{No: 8, Text: "x", Origin: "prod vllm-7c9d8-abcde vllm"}, {No: 9, Text: "y", Origin: "prod vllm-7c9d8-fghij vllm"},
			{No: 10, Origin: "prod vllm-7c9d8-abcde › vllm"},
		}},
		{"stern", kubetailLog, []got{
			{No: 1, Text: "one", Origin: "infer-7d9c5b8f6d-x2k4p"}, {No: 2, Text: "  two", Origin: "infer-7d9c5b8f6d-x2k4p"},
			{No: 3, Origin: "infer-7d9c5b8f6d-x2k4p"}, {No: 4, Text: "four", Origin: "infer-7d9c5b8f6d-x2k4p"},
		}},
		{"compose", podmanLog, []got{
			{No: 1, Text: "one", Origin: "vllm"}, {No: 2, Text: "two", Origin: "router"}, {No: 3, Text: "  three", Origin: "vllm"},
			{No: 4, Origin: "vllm"}, {No: 5, Text: "[1/2] five", Origin: "vllm"},
		}},
		{"journald", journalFullLog, []got{
			{No: 1, Text: "one", Time: "2026-04-29 23:59:59", Origin: "gpu-17 vllm[1810]"},
			{No: 2, Text: "  two", Time: "2026-04-30 00:00:00.123456", Origin: "gpu-17 vllm@1.service[1810]"},
			{No: 3, Text: "three", Time: "2026-04-30 00:00:01", Origin: "gpu-17 kernel"},
		}},
		{"journald", journalMonotonicLog, []got{
			{No: 1, Text: "one", Time: " 4000.123456", Origin: "gpu-17 vllm[1810]"},
			{No: 2, Text: "  two", Time: "14000.123456", Origin: "gpu-17 vllm[1810]"},
			{No: 3, Text: "three", Time: "14001.123456", Origin: "gpu-17 kernel"},
		}},
		{"timestamps+loki", logcliLog, []got{
			{No: 1, Text: "one", Time: "2026-05-03T08:11:00Z", Origin: "vllm-0"},
			{No: 2, Text: "  two", Time: "2026-05-03T08:11:01Z", Origin: "vllm-0"},
			{No: 3, Text: "three", Time: "2026-05-03T08:11:02Z", Origin: "vllm-0"},
			{No: 4, Time: "2026-05-03T08:11:03Z", Origin: "vllm-0"},
		}},
		{"srun", srunLog, []got{
			{No: 1, Text: "[rank0]: [2026-04-16 10:31:19 TP0] a", Origin: "0"}, {No: 2, Text: "[rank10]: Traceback", Origin: "10"},
			{No: 3, Text: "[rank0]:   b", Origin: "0"}, {No: 4, Text: "[rank10]: c", Origin: "10"},
			{No: 5, Text: "[rank0]: d", Origin: "0"}, {No: 6, Text: "[rank10]: e", Origin: "10"},
			{No: 7, Text: "[rank0]: ", Origin: "0"}, {No: 8, Text: "[rank10]: ", Origin: "10"},
			{No: 9, Text: "srun: error: node1: task 10: Exited with exit code 1"},
		}},
		{"cloudwatch", strings.Repeat("2026-04-16T10:31:19.123000+00:00 ecs/vllm/0f1e2d3c one\n", 4), []got{
			{No: 1, Text: "one", Time: "2026-04-16T10:31:19.123000+00:00", Origin: "ecs/vllm/0f1e2d3c"},
			{No: 2, Text: "one", Time: "2026-04-16T10:31:19.123000+00:00", Origin: "ecs/vllm/0f1e2d3c"},
			{No: 3, Text: "one", Time: "2026-04-16T10:31:19.123000+00:00", Origin: "ecs/vllm/0f1e2d3c"},
			{No: 4, Text: "one", Time: "2026-04-16T10:31:19.123000+00:00", Origin: "ecs/vllm/0f1e2d3c"},
		}},
		{"cloudwatch", "2026-04-16 10:31:19.123\tone\n2026-04-16 10:31:19\t  two\n", []got{
			{No: 1, Text: "one", Time: "2026-04-16 10:31:19.123"},
			{No: 2, Text: "  two", Time: "2026-04-16 10:31:19"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.wrapper, func(t *testing.T) {
			r := NewReader(strings.NewReader(tt.in), ReaderOptions{})
			if d := cmp.Diff(raws(tt.in, tt.want), readLines(t, r)); d != "" {
				t.Error(d)
			}
			if r.Wrapper() != tt.wrapper {
				t.Errorf("wrapper %q, want %q", r.Wrapper(), tt.wrapper)
			}
		})
	}
}

// A server may print JSON, numbers and names itself.
func TestUnwrapLeavesServerLines(t *testing.T) {
	log := strings.Repeat("INFO 04-16 10:31:19 [a.py:1] one\n", 40)
	request := strings.Repeat(`{"message": "a request", "time": 1}`+"\n", 12)
	for name, in := range map[string]string{
		"requests behind the start":   log + request,
		"requests behind a window":    strings.Repeat(log, 6) + strings.Repeat(request, 40),
		"objects of another kind":     strings.Repeat(`{"model": "m", "messages": [{"message": "x"}]}`+"\n", 20),
		"a configuration":             "{\n  \"log\": \"x\",\n  \"message\": \"y\"\n}\n",
		"two objects":                 `{"message": "x"}` + "\n" + `{"message": "y"}` + "\n",
		"text behind the object":      strings.Repeat(`{"message": "x"} and more`+"\n", 9),
		"an enumeration":              "1: a\n2: b\n3: c\n4: d\n5: e\n6: f\n",
		"names that are no pods":      strings.Repeat("llama-server slot update: x\n", 9),
		"a few lines of a pod":        log + strings.Repeat("infer-0 vllm one\n", 9),
		"a date of Ray":               strings.Repeat("2025-04-16 10:35:25,967\tINFO worker.py:1841 -- Connected\n", 9),
		"ranks between brackets":      strings.Repeat("[rank-0] x\n[rank-1] x\n", 9),
		"levels between brackets":     strings.Repeat("[INFO] | x\n", 9),
		"a date and a level":          strings.Repeat("2026-04-16 info x\n", 9),
		"a trace of a shell":          strings.Repeat("+ infer-0 vllm x\n", 9),
		"the kernel's ring buffer":    strings.Repeat("[ 1234.567890] NVRM: GPU 0000:01:00.0: Xid\n", 9),
		"a weekday and a message":     strings.Repeat("Thu 2026-04-30 01:00:00 UTC INFO server: x\n", 9),
		"metrics":                     strings.Repeat("vllm:num_requests{model_name=\"m\"} 1.0\n", 9),
		"dictionaries":                strings.Repeat("{\"a\": 1} x\n", 9),
		"an empty array as a message": strings.Repeat(`{"MESSAGE":[]}`+"\n", 9),
	} {
		r := NewReader(strings.NewReader(in), ReaderOptions{})
		lines := readLines(t, r)
		if r.Wrapper() != "" || len(lines) != strings.Count(in, "\n") {
			t.Errorf("%s: wrapper %q, %d lines", name, r.Wrapper(), len(lines))
		}
	}
}

// A collector that takes the line end off leaves no pieces of messages.
func TestUnwrapJSONWithoutLineEnds(t *testing.T) {
	r := NewReader(strings.NewReader(strings.Repeat(`{"log":"one","stream":"stderr","time":"t"}`+"\n", 3)), ReaderOptions{})
	if lines := readLines(t, r); len(lines) != 3 || r.Wrapper() != "json" {
		t.Errorf("wrapper %q, %d lines", r.Wrapper(), len(lines))
	}
}

// A wrapper that begins after a long introduction is found, and one line that
// looks wrapped among many that are not is left alone.
func TestUnwrapWindows(t *testing.T) {
	intro := strings.Repeat("torch 2.9\n", 3*window)
	r := NewReader(strings.NewReader(intro+strings.Repeat("vllm-1  | text\n", 10)), ReaderOptions{})
	lines := readLines(t, r)
	if r.Wrapper() != "compose" || lines[len(lines)-1].Text != "text" {
		t.Errorf("wrapper %q, last line %+v", r.Wrapper(), lines[len(lines)-1])
	}
	for _, line := range []string{"> quoted", "2026-04-16T10:31:19.1Z x", `"a",`, "a  | b\nbb | c\nc  | d\ndd | e"} {
		r := NewReader(strings.NewReader(intro+line+"\n"), ReaderOptions{})
		readLines(t, r)
		if r.Wrapper() != "" {
			t.Errorf("%q: wrapper %q", line, r.Wrapper())
		}
	}
}

// A message that docker split over the end of a block is joined.
func TestUnwrapJoinsOverBlocks(t *testing.T) {
	var in strings.Builder
	for in.Len() < blockSize-150 {
		in.WriteString(`{"log":"fill\n","stream":"stderr","time":"2026-04-16T10:31:19.1Z"}` + "\n")
	}
	n := strings.Count(in.String(), "\n")
	first := `{"log":"` + strings.Repeat("x", 40) + `","stream":"stderr","time":"2026-04-16T10:31:20.1Z"}`
	fmt.Fprintf(&in, "%s\n%s\n", first, `{"log":"`+strings.Repeat("y", 40)+`\n","stream":"stderr","time":"2026-04-16T10:31:20.2Z"}`)
	lines := readLines(t, NewReader(strings.NewReader(in.String()), ReaderOptions{}))
	want := got{No: n + 1, Offset: int64(strings.Index(in.String(), "xxx") - len(`{"log":"`)), Raw: first, Time: "2026-04-16T10:31:20.1Z",
		Text: strings.Repeat("x", 40) + strings.Repeat("y", 40)}
	if d := cmp.Diff(want, lines[n]); d != "" || len(lines) != n+1 {
		t.Errorf("%d lines, want %d\n%s", len(lines), n+1, d)
	}
}

// Joining does not grow beyond the limit of a line.
func TestUnwrapJoinIsBounded(t *testing.T) {
	piece := `{"log":"0123456789","stream":"stderr","time":"t"}` + "\n"
	in := `{"log":"x\n","stream":"stderr","time":"t"}` + "\n" + strings.Repeat(piece, 100)
	lines := readLines(t, NewReader(strings.NewReader(in), ReaderOptions{MaxLine: 64}))
	if len(lines) != 2 || len(lines[1].Text) != 64 || lines[1].Flags != Cut {
		t.Errorf("%+v", lines)
	}
}

// Log and prose of a newest-first export in Markdown keep their places.
func TestUnwrapNewestFirstInMarkdown(t *testing.T) {
	in := "Logs:\n```\n" +
		"ERROR 2026-04-05T00:01:19Z d\nERROR 2026-04-05T00:01:18Z c\nERROR 2026-04-05T00:01:17Z b\nERROR 2026-04-05T00:01:16Z a\n" +
		"```\nand\n```\nERROR 2026-04-05T00:02:02Z f\nERROR 2026-04-05T00:02:01Z e\n```\n"
	var order strings.Builder
	for _, l := range readLines(t, NewReader(strings.NewReader(in), ReaderOptions{})) {
		fmt.Fprintf(&order, "%d:%s ", l.No, l.Text)
	}
	const want = "1:Logs: 2:``` 6:a 5:b 4:c 3:d 7:``` 8:and 9:``` 11:e 10:f 12:``` "
	if order.String() != want {
		t.Errorf("got  %s\nwant %s", order.String(), want)
	}
}

// More than can be held in memory is an error, not half a log in wrong order.
func TestUnwrapNewestFirstIsBounded(t *testing.T) {
	var in strings.Builder
	for in.Len() < 3*blockSize {
		fmt.Fprintf(&in, "ERROR 2026-04-05T00:01:%02dZ a\n", max(0, 59-in.Len()/30))
	}
	r := NewReader(strings.NewReader(in.String()), ReaderOptions{})
	r.maxPile = 2 * blockSize
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	}
}

func TestUnwrapQuotedMarkdown(t *testing.T) {
	in := "> Log:\n> ```\n> vllm-1  | a\n> vllm-1  | b\n> vllm-1  | c\n> vllm-1  | d\n> ```\n"
	r := NewReader(strings.NewReader(in), ReaderOptions{})
	var got []string
	for _, l := range readLines(t, r) {
		got = append(got, fmt.Sprintf("%s %d", l.Text, l.Flags))
	}
	want := []string{"Log: 2", "``` 2", "a 0", "b 0", "c 0", "d 0", "``` 2"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if r.Wrapper() != "quote+markdown+compose" {
		t.Errorf("wrapper %q", r.Wrapper())
	}
}

// A notebook on one line still gives its lines, all with number 1.
func TestUnwrapNotebookOnOneLine(t *testing.T) {
	in := strings.ReplaceAll(notebookLog, "\n", " ")
	for _, l := range readLines(t, NewReader(strings.NewReader(in), ReaderOptions{})) {
		if l.No != 1 || l.Offset != 0 || l.Raw != in {
			t.Errorf("%+v", l)
		}
	}
}

// A fence inside a server's log, such as a prompt, makes no Markdown of it.
func TestUnwrapLogWithFenceIsPlain(t *testing.T) {
	in := "INFO 04-16 10:31:19 [logger.py:1] Received request: prompt: 'say\n```python\nx\n```\n'\n"
	r := NewReader(strings.NewReader(in), ReaderOptions{})
	for _, l := range readLines(t, r) {
		if l.Flags != 0 {
			t.Errorf("%+v", l)
		}
	}
	if r.Wrapper() != "" {
		t.Errorf("wrapper %q", r.Wrapper())
	}
}

func TestAppendUnescaped(t *testing.T) {
	for in, want := range map[string]string{
		`plain`:              "plain",
		`a\tb\\\"\/\b\f\r`:   "a\tb\\\"/\b\f\r",
		`\u00e9\uD83D\uDE80`: "é🚀",
		`\ud83d x`:           "\ufffd x",
		`\ud83d\u0041`:       "\ufffdA",
		`\x \u12 \u00zz`:     `\x \u12 \u00zz`,
		`end\`:               `end\`,
	} {
		if got := string(appendUnescaped(nil, []byte(in))); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Decoding in place is safe because the text never outgrows its escapes.
func FuzzAppendUnescaped(f *testing.F) {
	f.Add([]byte(`caf\u00e9 \ud83d\ude80 \n\x \ud83d`))
	f.Add([]byte(`\\\`))
	f.Fuzz(func(t *testing.T, s []byte) {
		want := appendUnescaped(nil, s)
		copied := bytes.Clone(s)
		if got := appendUnescaped(copied[:0], copied); string(got) != string(want) {
			t.Errorf("in place %q, want %q", got, want)
		}
		if len(want) > len(s) {
			t.Errorf("grew from %d to %d bytes", len(s), len(want))
		}
	})
}

// FuzzSplitJSONLine compares what is read from an object with what the JSON
// package reads, and that all spans lie within the line.
func FuzzSplitJSONLine(f *testing.F) {
	for line := range strings.Lines(fluentLog + journalJSON + lokiLog + dockerLog) {
		f.Add([]byte(strings.TrimSpace(line)))
	}
	f.Add([]byte(`{"message":`))
	f.Add([]byte(`{"jsonPayload":{"message":"x"`))
	f.Add([]byte(`{"a":{"b":"}"},"MESSAGE":[300, 1,,2]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		p, ok := splitJSONLine(line)
		if !ok {
			return
		}
		for _, s := range []span{p.text, p.time, p.origin} {
			if s.start < 0 || s.end < s.start || int(s.end) > len(line) {
				t.Fatalf("%q: span %v", line, s)
			}
		}
		text := string(p.decode(nil, p.text.of(line)))
		var v struct{ Log *string }
		if p.octets || json.Unmarshal(line, &v) != nil || v.Log == nil || bytes.Count(line, []byte(`"log"`)) != 1 || !utf8.Valid(line) || bytes.Contains(line, []byte(`\u`)) {
			return
		}
		if text != strings.TrimSuffix(*v.Log, "\n") {
			t.Fatalf("%q: text %q, want %q", line, text, *v.Log)
		}
	})
}
