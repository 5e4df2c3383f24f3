package endpoint

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// maxSeries bounds the names that are kept of a server's metrics: engines have a
// few hundred.
const maxSeries = 10_000

// series is one line of Prometheus' text format.
type series struct {
	name   string
	labels map[string]string
	value  float64
}

// eachSeries reads Prometheus' text exposition format, version 0.0.4, and calls f
// for every sample. Lines that don't fit are counted.
func eachSeries(data []byte, f func(series)) (samples, strange int) {
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(make([]byte, 0, 64<<10), len(data)+1)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		s, ok := readSeries(line)
		if !ok {
			strange++
			continue
		}
		samples++
		f(s)
	}
	return samples, strange
}

// readSeries reads NAME{LABEL="VALUE",...} NUMBER [TIME].
func readSeries(line string) (series, bool) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 {
		return series{}, false
	}
	s := series{name: line[:end], labels: map[string]string{}}
	for i := range len(s.name) {
		c := s.name[i]
		if !(c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return series{}, false
		}
	}
	rest := line[end:]
	if rest[0] == '{' {
		var ok bool
		if rest, ok = readLabels(rest[1:], s.labels); !ok {
			return series{}, false
		}
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 || len(fields) > 2 {
		return series{}, false
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return series{}, false
	}
	s.value = v
	return s, true
}

// readLabels reads labels and returns what follows the closing brace.
func readLabels(text string, labels map[string]string) (rest string, ok bool) {
	for {
		text = strings.TrimLeft(text, " \t,")
		if after, done := strings.CutPrefix(text, "}"); done {
			return after, true
		}
		name, after, found := strings.Cut(text, "=")
		after = strings.TrimLeft(after, " \t")
		if !found || !strings.HasPrefix(after, `"`) {
			return "", false
		}
		var value strings.Builder
		i := 1
		for ; i < len(after) && after[i] != '"'; i++ {
			c := after[i]
			if c == '\\' && i+1 < len(after) {
				i++
				if c = after[i]; c == 'n' {
					c = '\n'
				}
			}
			value.WriteByte(c)
		}
		if i >= len(after) {
			return "", false
		}
		labels[strings.TrimSpace(name)] = value.String()
		text = after[i+1:]
	}
}

// sums adds the samples of each name over their labels. The steps of histograms
// and summaries are left out: they are shares of one count, and their sum says
// nothing. ok is false when the text holds no sample.
func sums(data []byte) (m map[string]float64, strange int, ok bool) {
	m = make(map[string]float64)
	samples, strange := eachSeries(data, func(s series) {
		if _, step := s.labels["le"]; step {
			return
		}
		if _, step := s.labels["quantile"]; step {
			return
		}
		if _, known := m[s.name]; known || len(m) < maxSeries {
			m[s.name] += s.value
		}
	})
	return m, strange, samples > 0
}
