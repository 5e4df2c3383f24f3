package score

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"shakedown/internal/finding"
)

// Label describes one log: the file Slug.txt beside the label file.
type Label struct {
	Slug     string        `json:"slug"`
	Launches []LaunchLabel `json:"launches"`
}

// LaunchLabel is what is true of one launch. Lines are physical lines from 1.
type LaunchLabel struct {
	N         int      `json:"n"`
	FirstLine int      `json:"first_line"`
	LastLine  int      `json:"last_line"`
	Outcome   string   `json:"outcome"` // as in finding, but "aborted" for stopped
	Cause     string   `json:"cause"`   // "none" for a healthy launch
	Second    []string `json:"second"`  // other causes that are accepted
	Decisive  []int    `json:"decisive_lines"`
}

func (l *LaunchLabel) hasCause() bool { return l.Cause != "" && l.Cause != noCause }

// caused says whether the log shows the cause.
func (l *LaunchLabel) caused() bool { return l.hasCause() && len(l.Decisive) > 0 }

func (l *LaunchLabel) accepts(cause string) bool {
	return cause == l.Cause || slices.Contains(l.Second, cause)
}

// noCause is the labels' cause of a healthy launch.
const noCause = "none"

// outcomeName is the labels' word for an outcome.
func outcomeName(o finding.Outcome) string {
	if o == finding.Stopped {
		return "aborted"
	}
	return string(o)
}

// Half is one of the two parts into which every corpus is split, so that rules
// can be written on one and measured on the other.
type Half int

// The halves.
const (
	Dev  Half = iota // rules may be written from these logs
	Hold             // rules must not
)

// HalfOf is the half of a log or incident, by the parity of the SHA-256 of its
// name: a choice that nobody makes and that stays when the corpus grows.
func HalfOf(name string) Half {
	sum := sha256.Sum256([]byte(name))
	return Half(sum[len(sum)-1] & 1)
}

// maxRecord bounds one line of a label file.
const maxRecord = 1 << 20

// readRecords calls fn with each line of a JSON Lines file, decoded. Errors name
// file and line.
func readRecords[T any](fsys fs.FS, name string, fn func(T) error) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, maxRecord)
	n := 0
	for sc.Scan() {
		n++
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if err := fn(v); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	return nil
}
