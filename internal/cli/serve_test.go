package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"shakedown/internal/oracle/oracletest"
)

// letterTokenizer has a token for each of the letters a to z and a space.
const letterTokenizer = `{"version":"1.0","added_tokens":[],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},
"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","merges":[],"vocab":{"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"i":8,"j":9,"k":10,"l":11,"m":12,
"n":13,"o":14,"p":15,"q":16,"r":17,"s":18,"t":19,"u":20,"v":21,"w":22,"x":23,"y":24,"z":25,"Ġ":26}}}`

// served writes a tiny checkpoint with a tokenizer.
func served(t *testing.T) string {
	t.Helper()
	dir := oracletest.Write(t, oracletest.Configs["qwen3"], oracletest.Options{})
	for name, text := range map[string]string{"tokenizer.json": letterTokenizer, "generation_config.json": `{"temperature":0.5,"eos_token_id":[26,25]}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestServe: the server says where it is, answers, and ends with 0 when it is
// interrupted, with its answer complete.
func TestServe(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		env := func(name string) string { return map[string]string{"SHAKEDOWN_API_KEY": "sesame"}[name] }
		code <- Main(ctx, World{Args: []string{"serve", served(t), "--port", "0", "--name", "tiny"}, Env: env, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: w})
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	lines.Scan() // no status line comes before it where nobody watches
	ready := regexp.MustCompile(`^ready: (http://127\.0\.0\.1:\d+)/v1  model tiny  numerics exact .*  loaded in \d+\.\d s$`).FindStringSubmatch(lines.Text())
	if ready == nil {
		t.Fatalf("the server says %q", lines.Text())
	}
	lines.Scan()
	if want := "try: curl -s " + ready[1] + `/v1/completions -H "Authorization: Bearer $SHAKEDOWN_API_KEY" -d '{"prompt":"The capital of France is"}'`; lines.Text() != want {
		t.Errorf("the server says %q, want %q", lines.Text(), want)
	}
	go io.Copy(io.Discard, r)
	req, err := http.NewRequest("POST", ready[1]+"/v1/completions", strings.NewReader(`{"prompt":"hello","max_tokens":200,"ignore_eos":true,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sesame")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 10)
	if _, err := io.ReadFull(resp.Body, first); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d, %v", resp.StatusCode, err)
	}
	interrupt()
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.HasSuffix(rest, []byte("data: [DONE]\n\n")) {
		t.Errorf("the answer that ran when the server was interrupted ends with %q, %v", rest[max(0, len(rest)-60):], err)
	}
	if got := <-code; got != exitSound {
		t.Errorf("exit code %d", got)
	}
}

func TestServeErrors(t *testing.T) {
	dir := served(t)
	bare := oracletest.Write(t, oracletest.Configs["qwen3"], oracletest.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	wide := served(t)
	if err := os.WriteFile(filepath.Join(wide, "tokenizer.json"), []byte(strings.Replace(letterTokenizer, `"Ġ":26`, `"Ġ":64`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{dir, "--port", port}, exitUnreadable, "address already in use"},
		{[]string{dir, "--port", "0", "--host", "203.0.113.1"}, exitUnreadable, "--host 127.0.0.1"}, // an address for documentation
		{[]string{bare}, exitUnreadable, "no tokenizer"},
		{[]string{wide}, exitUnreadable, "ids up to 64"},
		{[]string{dir + "/none"}, exitUnreadable, "none"},
		{[]string{dir, "--port", "70000"}, exitUsage, "--port 70000: 0 to 65535"},
		{[]string{dir, "--numerics", "quick"}, exitUsage, "quick"},
		{nil, exitUsage, "one checkpoint"},
	} {
		var stderr bytes.Buffer
		code := Main(t.Context(), World{Args: append([]string{"serve"}, c.args...), Env: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr})
		if code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("serve %v: %d %s, want %d and %q", c.args, code, &stderr, c.code, c.want)
		}
	}
}
