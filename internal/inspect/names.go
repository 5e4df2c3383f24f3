package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// collapse folds names that differ in numbers only: model.layers.3.mlp.gate and
// model.layers.4.mlp.gate become model.layers.{3-4}.mlp.gate. The result is in
// the order of first appearance, with the number of names that each stands for.
func collapse(names []string) []folded {
	index := map[string]int{}
	var out []folded
	for _, name := range names {
		key, numbers := split(name)
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, folded{key: key, numbers: make([][]int, len(numbers))})
		}
		out[i].count++
		for j, n := range numbers {
			out[i].numbers[j] = append(out[i].numbers[j], n)
		}
	}
	return out
}

// folded is a collapsed name.
type folded struct {
	key     string // the name with # for each number
	numbers [][]int
	count   int
}

// split takes the numbers that are whole parts of a name out of it.
func split(name string) (key string, numbers []int) {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if n, err := strconv.Atoi(p); err == nil && n >= 0 {
			parts[i] = "#"
			numbers = append(numbers, n)
		}
	}
	return strings.Join(parts, "."), numbers
}

func (f folded) String() string {
	parts := strings.Split(f.key, ".")
	j := 0
	for i, p := range parts {
		if p == "#" && j < len(f.numbers) {
			parts[i] = ranges(f.numbers[j])
			j++
		}
	}
	return strings.Join(parts, ".")
}

// maxRanges is how many ranges a collapsed name shows.
const maxRanges = 6

// ranges writes numbers as ranges, in braces unless it is one number.
func ranges(numbers []int) string {
	n := slices.Clone(numbers)
	slices.Sort(n)
	n = slices.Compact(n)
	if len(n) == 1 {
		return strconv.Itoa(n[0])
	}
	var out []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if j > i {
			out = append(out, fmt.Sprintf("%d-%d", n[i], n[j]))
		} else {
			out = append(out, strconv.Itoa(n[i]))
		}
		i = j + 1
	}
	if len(out) > maxRanges {
		out = append(out[:maxRanges], "...")
	}
	return "{" + strings.Join(out, ",") + "}"
}

// list writes the first few collapsed names in one line.
func list(names []string, most int) string {
	all := collapse(names)
	var out []string
	for i, f := range all {
		if i == most {
			out = append(out, fmt.Sprintf("and %d further kinds", len(all)-most))
			break
		}
		out = append(out, f.String())
	}
	return strings.Join(out, ", ")
}

// plural counts things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return group(int64(n)) + " " + many
}

// group writes a number with commas between groups of three digits.
func group(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// layerOf finds the number of the layer in a name: the part behind "layers",
// "blk", "h" or "blocks".
func layerOf(name string) (layer int, ok bool) {
	parts := strings.Split(name, ".")
	for i := 0; i+1 < len(parts); i++ {
		switch parts[i] {
		case "layers", "blk", "h", "blocks":
			n, err := strconv.Atoi(parts[i+1])
			return n, err == nil
		}
	}
	return 0, false
}
