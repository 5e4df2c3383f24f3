package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mix writes the lines of several services as docker compose does, two of each
// in turn.
func mix(services ...[2]string) string {
	var b strings.Builder
	for again := true; again; {
		again = false
		for i := range services {
			for range 2 {
				if services[i][1] == "" {
					break
				}
				line, rest, _ := strings.Cut(services[i][1], "\n")
				fmt.Fprintf(&b, "%-9s | %s\n", services[i][0], line)
				services[i][1], again = rest, true
			}
		}
	}
	return b.String()
}

// TestWriters: servers that share a file are read as if each had its own.
func TestWriters(t *testing.T) {
	failing := sglDump + sglLoad + sglCrash
	web := "GET / 200\nGET / 200\nError: no such user\n"
	for _, tc := range []struct {
		name, log string
		want      []string // file and outcome of each launch
	}{
		{"one server beside a web page", mix([2]string{"web-1", web}, [2]string{"sglang-1", sglStart}), []string{"all.log ok"}},
		{
			"a server that works and one that fails", mix([2]string{"prefill-1", sglStart}, [2]string{"web-1", web}, [2]string{"decode-1", failing}),
			[]string{"all.log[prefill-1] ok", "all.log[decode-1] failed"},
		},
		{
			"two engines", mix([2]string{"a-1", failing}, [2]string{"b-1", vllmStart + vllmUp}),
			[]string{"all.log[a-1] failed", "all.log[b-1] ok"},
		},
		{
			"processes of one unit in the journal",
			"Mar 01 10:00:00 rig sglang[41]: " + strings.ReplaceAll(strings.TrimSuffix(sglStart, "\n"), "\n", "\nMar 01 10:00:01 rig sglang[42]: ") + "\n",
			[]string{"all.log ok"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, l := range read(t, "all.log", tc.log) {
				got = append(got, fmt.Sprint(l.Files[0].Name, " ", l.Outcome))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("launches differ (-want +got):\n%s", diff)
			}
		})
	}
}
