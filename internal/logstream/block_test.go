package logstream

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// got is a line as a test sees it.
type got struct {
	No     int
	Offset int64
	Text   string
	Raw    string // "" when it equals Text
	Flags  LineFlag
	Time   string
	Origin string
}

// readLines reads a stream to its end and checks what holds for all blocks.
func readLines(t testing.TB, r *Reader) []got {
	t.Helper()
	var all []got
	for {
		b, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, blockLines(t, b)...)
		b.Release()
	}
}

func blockLines(t testing.TB, b *Block) []got {
	t.Helper()
	if len(b.Lines) == 0 {
		t.Fatal("a block without lines")
	}
	var all []got
	last := int32(-1)
	for i, l := range b.Lines {
		if l.Start <= last || l.End < l.Start || int(l.End) >= len(b.Data) || bytes.IndexByte(b.Text(i), '\n') >= 0 {
			t.Fatalf("line %d: bad place [%d, %d) after %d in %d bytes", l.No, l.Start, l.End, last, len(b.Data))
		}
		if bytes.IndexByte(b.Data[l.End:], '\n') < 0 {
			t.Fatalf("line %d has no end", l.No)
		}
		last = l.End
		g := got{No: l.No, Offset: l.Offset, Text: string(b.Text(i)), Flags: l.Flags, Time: string(b.Time(i)), Origin: string(b.Origin(i))}
		if raw := string(b.Raw(i)); raw != g.Text {
			g.Raw = raw
		}
		all = append(all, g)
	}
	return all
}

func TestReaderPlain(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want []got
	}{
		{"empty", "", nil},
		{"line ends", "a\r\n\r\nb\rc\n\nd", []got{
			{No: 1, Offset: 0, Text: "a"},
			{No: 2, Offset: 3},
			{No: 3, Offset: 5, Text: "b\rc"},
			{No: 4, Offset: 9},
			{No: 5, Offset: 10, Text: "d"},
		}},
		{"byte order mark", "\xef\xbb\xbfa\nb\n", []got{{No: 1, Offset: 3, Text: "a"}, {No: 2, Offset: 5, Text: "b"}}},
		{"invalid UTF-8 and NUL inside pass", "a\xff\x00b\n", []got{{No: 1, Text: "a\xff\x00b"}}},
		{"padding in front", "\x00\x00\x00a\nb\n", []got{{No: 1, Offset: 3, Text: "a"}, {No: 2, Offset: 5, Text: "b"}}},
		{"padding at the end", "a\n\x00\x00\x00", []got{{No: 1, Text: "a"}}},
		{"padding behind text", "a\r\x00\x00", []got{{No: 1, Text: "a"}}},
		{"UTF-16", "\xff\xfea\x00\r\x00\n\x00\x3d\xd8\x80\xde", []got{
			{No: 1, Offset: 3, Text: "a"},
			{No: 2, Offset: 6, Text: "🚀"},
		}},
		{"UTF-16 without mark", "\x00s\x00e\x00r\x00v\x00e\x00r\x00 \x00u\x00p\x00\n", []got{{No: 1, Text: "server up"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				rd := NewReader(r, ReaderOptions{})
				if d := cmp.Diff(tt.want, readLines(t, rd)); d != "" {
					t.Error(d)
				}
				if rd.Wrapper() != "" {
					t.Errorf("wrapper %q", rd.Wrapper())
				}
			}
		})
	}
}

// The logs of servers are no wrappers, although they begin with times and names.
func TestReaderServersArePlain(t *testing.T) {
	for _, line := range []string{
		"[2026-02-19 00:19:10 TP0] Load weight begin. avail mem=46.93 GB",
		"INFO 04-16 10:31:19 [kv_cache_utils.py:634] GPU KV cache size: 305,216 tokens",
		"(EngineCore_DP0 pid=36) INFO 09-30 18:29:03 [core.py:71] hello",
		"0.00.001.930 I cmn          load: loading model",
		"slot update_slots: id  0 | task 0 | new prompt, n_tokens = 12",
		"srv    load_model: loading model '/m/a.gguf'",
		"|   - CUDA0 (RTX) | 24111 = 1051 + (21224 = 20583 +     142 +     498) |",
		"2024-10-21 10:42:00,218 - lmdeploy - ERROR - model_agent.py:489 - Rank[2] failed.",
		"[04/17/2026-08:21:45] [TRT-LLM] [I] Set dtype to bfloat16.",
		"2026-03-01T10:00:00.123456Z  INFO sglang_router::server: starting",
		"Nov-ish text: not a month",
		"",
	} {
		in := strings.Repeat(line+"\n", 12)
		r := NewReader(strings.NewReader(in), ReaderOptions{})
		for _, l := range readLines(t, r) {
			if l.Text != line || l.Flags != 0 {
				t.Errorf("%q became %+v", line, l)
			}
		}
		if r.Wrapper() != "" {
			t.Errorf("%q: wrapper %q", line, r.Wrapper())
		}
	}
}

func TestReaderCutsLongLines(t *testing.T) {
	const maxLine = 10
	tests := []struct {
		name string
		in   string
		want []got
	}{
		{"just fits", "0123456789\r\nb\n", []got{{No: 1, Text: "0123456789"}, {No: 2, Offset: 12, Text: "b"}}},
		{"inside a block", "0123456789a\nb\n", []got{{No: 1, Text: "0123456789", Flags: Cut}, {No: 2, Offset: 12, Text: "b"}}},
		{"between characters", "012345678é\nb\n", []got{{No: 1, Text: "012345678", Flags: Cut}, {No: 2, Offset: 12, Text: "b"}}},
		{"longer than blocks", strings.Repeat("x", 3*blockSize+5) + "\nb\n", []got{
			{No: 1, Text: "xxxxxxxxxx", Flags: Cut}, {No: 2, Offset: 3*blockSize + 6, Text: "b"},
		}},
		{"without end", strings.Repeat("x", 2*blockSize), []got{{No: 1, Text: "xxxxxxxxxx", Flags: Cut}}},
		{"behind a block of padding", strings.Repeat("\x00", 2*blockSize) + "a\nb\n", []got{
			{No: 1, Offset: 2 * blockSize, Text: "a"}, {No: 2, Offset: 2*blockSize + 2, Text: "b"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReader(strings.NewReader(tt.in), ReaderOptions{MaxLine: maxLine})
			if d := cmp.Diff(tt.want, readLines(t, r)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A line may be as long as the limit wherever it stands, blocks break between
// lines, and numbers and offsets go on.
func TestReaderManyBlocks(t *testing.T) {
	var in bytes.Buffer
	var want []got
	for i := 1; in.Len() < 4*blockSize; i++ {
		line := strings.Repeat("abcdefghi\xc3\xa9", i*37%400)
		if i%1000 == 0 {
			line = strings.Repeat("y", defaultMaxLine)
		}
		want = append(want, got{No: i, Offset: int64(in.Len()), Text: line})
		in.WriteString(line + "\n")
	}
	if d := cmp.Diff(want, readLines(t, NewReader(iotest.HalfReader(&in), ReaderOptions{}))); d != "" {
		t.Error(d)
	}
}

func TestReaderManyShortLines(t *testing.T) {
	const n = 3*maxBlockLines + 7
	all := readLines(t, NewReader(strings.NewReader(strings.Repeat("\n", n)), ReaderOptions{}))
	if len(all) != n || all[n-1].No != n || all[n-1].Offset != n-1 {
		t.Errorf("%d lines, last %+v", len(all), all[len(all)-1])
	}
}

// What could be read comes before the error.
func TestReaderError(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), ReaderOptions{})
	b, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]got{{No: 1, Text: "a"}, {No: 2, Offset: 2, Text: "b"}}, blockLines(t, b)); d != "" {
		t.Error(d)
	}
	for range 2 {
		if _, err := r.Next(); err != broken {
			t.Errorf("error %v", err)
		}
	}
}

// A live reader hands out complete lines while the source has more to come.
func TestReaderLive(t *testing.T) {
	pr, pw := io.Pipe()
	r := NewReader(pr, ReaderOptions{Live: true})
	send := func(s string) {
		go func() {
			if _, err := io.WriteString(pw, s); err != nil {
				t.Error(err)
			}
		}()
	}
	next := func() []got {
		b, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		defer b.Release()
		return blockLines(t, b)
	}
	send("2026-01-01T00:00:00.1Z one\n2026-01-01T00:00:00.2Z tw")
	first := next()
	send("o\n")
	all := append(first, next()...)
	pw.Close()
	want := []got{
		{No: 1, Text: "one", Raw: "2026-01-01T00:00:00.1Z one", Time: "2026-01-01T00:00:00.1Z"},
		{No: 2, Offset: 27, Text: "two", Raw: "2026-01-01T00:00:00.2Z two", Time: "2026-01-01T00:00:00.2Z"},
	}
	if d := cmp.Diff(want, all); d != "" {
		t.Error(d)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("error %v", err)
	}
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"a\r\nb\rc\x00\n\nd",
		"\xff\xfea\x00\n\x00",
		dockerLog, criLog, gcpLog, composeLog, quotedLog, markdownLog, notebookLog, journalLog,
		fluentLog, journalJSON, lokiLog, sternLog, srunLog, foldedLog(),
		sternPodsLog, sternColourLog, kubetailLog, podmanLog, journalFullLog, journalMonotonicLog, logcliLog,
	} {
		f.Add([]byte(seed), 40, true)
		f.Add([]byte(seed), 0, false)
	}
	f.Fuzz(func(t *testing.T, data []byte, maxLine int, live bool) {
		r := NewReader(bytes.NewReader(data), ReaderOptions{MaxLine: maxLine % (1 << 16), Live: live})
		lines := readLines(t, r)
		physical := bytes.Count(data, []byte("\n")) + 1
		for _, l := range lines {
			if utf16Order(data[:min(len(data), sniffSize)]) == nil && (l.No < 1 || l.No > physical || l.Offset > int64(len(data))) {
				t.Fatalf("%+v in %d lines, %d bytes", l, physical, len(data))
			}
		}
	})
}

// benchmarkReader measures a stream that consists of copies of lines.
func benchmarkReader(b *testing.B, lines string) {
	data := bytes.Repeat([]byte(lines), 64<<20/len(lines))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r := NewReader(bytes.NewReader(data), ReaderOptions{})
		n := 0
		for {
			blk, err := r.Next()
			if err != nil {
				break
			}
			n += len(blk.Lines)
			blk.Release()
		}
		if n != bytes.Count(data, []byte("\n")) {
			b.Fatalf("%d lines", n)
		}
	}
}

func BenchmarkReaderPlain(b *testing.B) {
	benchmarkReader(b, "[2026-02-19 00:19:10 TP0] Load weight begin. avail mem=46.93 GB\n"+
		"[2026-02-19 00:19:12 TP0] Decode batch, #running-req: 120, #token: 261376, token usage: 0.50, gen throughput (token/s): 6.19, #queue-req: 0,\n")
}

func BenchmarkReaderDockerJSON(b *testing.B) {
	benchmarkReader(b, `{"log":"INFO 04-16 10:31:19 [kv_cache_utils.py:634] GPU KV cache size: \"305,216\" tokens\n","stream":"stderr","time":"2026-04-16T10:31:19.123456789Z"}`+"\n")
}

func BenchmarkReaderCompose(b *testing.B) {
	benchmarkReader(b, "vllm-1  | INFO 04-16 10:31:19 [kv_cache_utils.py:634] GPU KV cache size: 305,216 tokens\n")
}
