package logstream

import "bytes"

// This file holds the wrappers in which a short name or number stands before
// each line. One such line proves nothing: they are grouped layers.

// splitStern reads a line of stern or kubetail, with or without colour; stern
// tells with " › " when it begins or ends to follow a container:
//
//	infer-7d9c5b8f6d-x2k4p vllm text
//	prod infer-7d9c5b8f6d-x2k4p vllm text
//	[infer-0 vllm] text
//	[infer-7d9c5b8f6d-x2k4p] text
//	+ infer-0 › vllm
func splitStern(line []byte) (parts, bool) {
	i := skipColour(line, 0)
	if i < len(line) && line[i] == '[' {
		return splitKubetail(line, i+1)
	}
	follows := i < len(line) && (line[i] == '+' || line[i] == '-')
	if follows {
		if i = skipColour(line, i+1); i == len(line) || line[i] != ' ' {
			return parts{}, false
		}
		i = skipColour(line, i+1)
	}
	pod := nameAt(line, i)
	start := pod.start
	i = skipColour(line, int(pod.end))
	if !pod.empty() && !isPodName(pod.of(line)) && i < len(line) && line[i] == ' ' { // a namespace
		pod = nameAt(line, skipColour(line, i+1))
		i = skipColour(line, int(pod.end))
	}
	switch arrow := " › "; {
	case !isPodName(pod.of(line)):
		return parts{}, false
	case bytes.HasPrefix(line[i:], []byte(arrow)):
		i += len(arrow)
	case !follows && i < len(line) && line[i] == ' ':
		i++
	default:
		return parts{}, false
	}
	container := nameAt(line, skipColour(line, i))
	return afterName(line, int(container.end), span{start, container.end}, !container.empty())
}

// splitKubetail reads what kubetail puts between brackets, the first of which
// stands before i; it names no container when the pod has but one. Then a number
// at the end proves no pod: servers print "[rank-0] text".
func splitKubetail(line []byte, i int) (parts, bool) {
	origin := nameAt(line, i)
	pod := origin.of(line)
	named := isPodName(pod)
	if end := int(origin.end); end < len(line) && line[end] == ' ' {
		container := nameAt(line, end+1)
		named = named && !container.empty()
		origin.end = container.end
	} else if suffix := pod[bytes.LastIndexByte(pod, '-')+1:]; len(bytes.Trim(suffix, "0123456789")) == 0 {
		named = false
	}
	end := int(origin.end)
	if end == len(line) || line[end] != ']' {
		return parts{}, false
	}
	return afterName(line, end+1, origin, named)
}

// afterName splits a line at the end of its writer's name.
func afterName(line []byte, end int, origin span, named bool) (parts, bool) {
	i := skipColour(line, end)
	if i < len(line) {
		if line[i] != ' ' {
			return parts{}, false
		}
		i++
	}
	return parts{text: from(line, i), origin: origin}, named
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
// (StatefulSet) or five random characters. Behind the hash of a ReplicaSet they
// may be any letters: people who hide a name write "abcde" or "xxxxx".
func isPodName(name []byte) bool {
	dash := bytes.LastIndexByte(name, '-')
	if dash <= 0 || dash+1 == len(name) || len(bytes.Trim(name, "0123456789-.")) == 0 { // a date has no letter
		return false
	}
	end := name[dash+1:]
	random := len(end) == 5
	letters := random
	number := true
	for _, c := range end {
		random = random && bytes.IndexByte([]byte(podSuffix), c) >= 0
		letters = letters && c != '.'
		number = number && isDigit(c)
	}
	return random || number || letters && endsInHash(name[:dash])
}

// endsInHash says whether a name ends as that of a ReplicaSet: with up to ten
// characters, letters and digits mixed.
func endsInHash(name []byte) bool {
	dash := bytes.LastIndexByte(name, '-')
	hash := name[dash+1:]
	digits := 0
	for _, c := range hash {
		if isDigit(c) {
			digits++
		}
	}
	return dash > 0 && len(hash) >= 5 && len(hash) <= 10 && digits > 0 && digits < len(hash) && bytes.IndexByte(hash, '.') < 0
}

// splitLabels reads a line of Loki's logcli behind its time stamp. Some labels, such
// as the level, are not those of the writer: pod or container tell it.
//
//	{app="vllm",pod="vllm-0"} text
func splitLabels(line []byte) (parts, bool) {
	c := cursor{b: line}
	if !c.byte('{') {
		return parts{}, false
	}
	var pod, container span
	for more := true; more; more = c.byte(',') {
		c.spaces()
		key := c.word(isIdent)
		if len(key) == 0 || !c.lit(`="`) {
			return parts{}, false
		}
		value := span{int32(c.i), int32(c.i + stringEnd(c.rest()))}
		c.i = int(value.end)
		if !c.byte('"') {
			return parts{}, false
		}
		switch string(key) {
		case "pod":
			pod = value
		case "container":
			container = value
		}
	}
	if pod.empty() {
		pod = container
	}
	if !c.byte('}') || !c.endOrSpace() {
		return parts{}, false
	}
	return parts{text: from(line, c.i), origin: pod}, true
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
