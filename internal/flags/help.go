package flags

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

const (
	maxHelp      = 4 << 20 // bytes of --help that are read; the longest known has 120 kB
	maxHelpFlags = 5000    // flags; the longest known list has 531
)

// ErrNoHelp says that the input is no --help text of an argparse program.
var ErrNoHelp = errors.New("no argparse --help text: expected lines like \"  --flag VALUE  description\"")

// FromHelp reads the --help text of an argparse program (vLLM:
// --help=all): names, number of values, choices and defaults. What the text
// does not show (the setting's name, deprecation) is guessed from the name or
// left out. It reads at most 4 MiB and returns ErrNoHelp, wrapped, when no flag
// is found.
func FromHelp(r io.Reader) (*Table, error) {
	sc := bufio.NewScanner(io.LimitReader(r, maxHelp))
	sc.Buffer(nil, maxHelp)
	t := newTable("", "", nil)
	var last *Flag
	for sc.Scan() && len(t.flags) < maxHelpFlags {
		line := sc.Text()
		if f := helpFlag(line); f != nil {
			t.add(f)
			last = f
			continue
		}
		if last != nil {
			helpDefault(last, line)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read --help: %w", err)
	}
	if len(t.flags) == 0 {
		return nil, ErrNoHelp
	}
	return t, nil
}

// Names begin at column 2 (argparse's indent) and end at two spaces.
var (
	helpForm    = regexp.MustCompile(`^ {2,4}(-{1,2}[A-Za-z0-9].*)$`)
	helpOption  = regexp.MustCompile(`^(-{1,2}[A-Za-z0-9][A-Za-z0-9_.-]*)(?:[ =](.+))?$`)
	defaultForm = regexp.MustCompile(`\(default: (.*)\)\s*$`)
)

// helpFlag reads the line that lists a flag's names.
func helpFlag(line string) *Flag {
	m := helpForm.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	invocation, text, _ := strings.Cut(m[1], "  ")
	f := &Flag{Action: "StoreTrue", Nargs: "0", Type: "bool", Default: "None"}
	for _, part := range splitNames(invocation) {
		o := helpOption.FindStringSubmatch(part)
		if o == nil {
			return nil
		}
		f.Names = append(f.Names, o[1])
		if o[2] != "" {
			metavar(f, o[2])
		}
	}
	f.Setting = strings.ReplaceAll(strings.TrimLeft(f.Name(), "-"), "-", "_")
	for _, n := range f.Names {
		if strings.HasPrefix(n, "--no-") && len(f.Names) > 1 {
			f.Action = "BooleanOptional"
		}
	}
	helpDefault(f, text)
	return f
}

// splitNames separates "-q X, --quantization {a,b}" at the commas between
// names, not at those inside braces.
func splitNames(s string) []string {
	var parts []string
	for {
		i := strings.Index(s, ", -")
		if i < 0 {
			return append(parts, s)
		}
		parts = append(parts, s[:i])
		s = s[i+2:]
	}
}

// metavar reads what stands behind a name: "X", "{a,b}", "[X ...]", "X [X ...]", "[X]".
func metavar(f *Flag, s string) {
	f.Action, f.Type = "Store", "str"
	switch {
	case strings.HasPrefix(s, "[") && strings.HasSuffix(s, "...]"):
		f.Nargs = "*"
	case strings.HasSuffix(s, "...]"):
		f.Nargs = "+"
	case strings.HasPrefix(s, "["):
		f.Nargs = "?"
	default:
		f.Nargs = ""
	}
	open, end := strings.IndexByte(s, '{'), strings.IndexByte(s, '}')
	if open >= 0 && end > open+1 {
		f.Choices = strings.Split(s[open+1:end], ",")
	}
}

func helpDefault(f *Flag, text string) {
	if m := defaultForm.FindStringSubmatch(text); m != nil {
		f.Default = m[1]
	}
}
