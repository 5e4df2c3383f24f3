package logstream

import "bytes"

// This file holds the wrappers in which a short name or number stands before
// each line. One such line proves nothing: they are grouped layers.

// splitStern reads a line of stern or kubetail, with or without colour; stern
// tells with " › " when it begins to follow a container:
//
//	infer-7d9c5b8f6d-x2k4p vllm text
//	[infer-0 vllm] text
//	+ infer-0 › vllm
func splitStern(line []byte) (parts, bool) {
	i := skipColour(line, 0)
	if bytes.HasPrefix(line[i:], []byte("+ ")) {
		i = skipColour(line, i+2)
	}
	bracket := i < len(line) && line[i] == '['
	if bracket {
		i++
	}
	pod := nameAt(line, i)
	i = skipColour(line, int(pod.end))
	switch arrow := " › "; {
	case !isPodName(pod.of(line)):
		return parts{}, false
	case bytes.HasPrefix(line[i:], []byte(arrow)):
		i += len(arrow)
	case i < len(line) && line[i] == ' ':
		i++
	default:
		return parts{}, false
	}
	container := nameAt(line, skipColour(line, i))
	i = skipColour(line, int(container.end))
	if bracket {
		if i == len(line) || line[i] != ']' {
			return parts{}, false
		}
		i++
	}
	if i = skipColour(line, i); i < len(line) {
		if line[i] != ' ' {
			return parts{}, false
		}
		i++
	}
	return parts{text: from(line, i), origin: span{pod.start, container.end}}, !container.empty()
}

// nameAt is the Kubernetes name that begins at i.
func nameAt(line []byte, i int) span {
	end := i
	for end < len(line) && (isDigit(line[end]) || 'a' <= line[end] && line[end] <= 'z' || line[end] == '-' || line[end] == '.') {
		end++
	}
	return span{int32(i), int32(end)}
}

// podSuffix is the alphabet of the random ends of pod names
// (k8s.io/apimachinery/pkg/util/rand).
const podSuffix = "bcdfghjklmnpqrstvwxz2456789"

// isPodName says whether a name ends as that of a pod: with a number
// (StatefulSet) or five random characters.
func isPodName(name []byte) bool {
	dash := bytes.LastIndexByte(name, '-')
	if dash <= 0 || dash+1 == len(name) {
		return false
	}
	end := name[dash+1:]
	random := len(end) == 5
	number := true
	for _, c := range end {
		random = random && bytes.IndexByte([]byte(podSuffix), c) >= 0
		number = number && isDigit(c)
	}
	return random || number
}

// maxTaskDigits bounds the number of a task in a Slurm step.
const maxTaskDigits = 5

// splitSrun reads a line of srun --label:
//
//	0: text
//	12: text
func splitSrun(line []byte) (parts, bool) {
	c := cursor{b: line}
	c.spaces()
	start := c.i
	digits := c.word(isDigit)
	task := span{int32(start), int32(c.i)}
	if len(digits) == 0 || len(digits) > maxTaskDigits || !c.byte(':') || !c.endOrSpace() {
		return parts{}, false
	}
	return parts{text: from(line, c.i), origin: task, task: task}, true
}

// splitLogStream reads a line of aws logs tail, which puts the log stream behind
// the time stamp:
//
//	2025-01-01T00:00:00.123000+00:00 ecs/vllm/0f1e2d3c text
func splitLogStream(line []byte) (parts, bool) {
	p, ok := afterTimestamp(line, 0)
	if !ok {
		return parts{}, false
	}
	c := cursor{b: line, i: int(p.text.start)}
	name := c.word(func(b byte) bool { return isNameByte(b) || b == '/' || b == '$' || b == '[' || b == ']' })
	if bytes.IndexByte(name, '/') <= 0 || !c.endOrSpace() {
		return parts{}, false
	}
	p.origin = span{p.text.start, p.text.start + int32(len(name))}
	p.text.start = int32(c.i)
	return p, true
}

// splitCloudWatch reads a line copied from the console of CloudWatch, with a tab
// behind a time stamp that has a space in it:
//
//	2025-01-01 00:00:00.123<TAB>text
func splitCloudWatch(line []byte) (parts, bool) {
	const form = "0000-00-00 00:00:00"
	if !hasForm(line, form) {
		return parts{}, false
	}
	c := cursor{b: line, i: len(form)}
	if c.byte('.') {
		c.word(isDigit)
	}
	if !c.byte('Z') {
		c.lit("+00:00")
	}
	end := c.i
	if !c.byte('\t') {
		return parts{}, false
	}
	return parts{text: from(line, c.i), time: span{0, int32(end)}}, true
}
