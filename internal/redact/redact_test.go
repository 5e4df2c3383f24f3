package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tests are lines with what becomes of them; "" means that the line stays. All
// names and keys are invented.
var tests = []struct{ in, want string }{
	// Tokens by their shape.
	{"using hf_QwErTyUiOpAsDfGhJkLzXcVb", "using <token>"},
	{"key sk-proj-aB3dE5fG7hI9jK1lM3nO5 was refused", "key <token> was refused"},
	{"AKIAABCDEFGHIJKLMNOP and ASIAABCDEFGHIJKLMNOP", "<token> and <token>"},
	{"clone with ghp_0123456789abcdefghijABCDEFGHIJ012345", "clone with <token>"},
	{"github_pat_11ABCDEFG0abcdefghijkl_mnop", "<token>"},
	{"slack xoxb-123456789012-abcdefGHIJ", "slack <token>"},
	{"nvapi-abcdefghij0123456789ABCDEF", "<token>"},
	{"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_DEF-123", "jwt <token>"},
	{"Authorization: Bearer abcDEF123456", "Authorization: Bearer <token>"},
	{"header {'Authorization': 'Bearer abcDEF123456'}", "header {'Authorization': '<token>'}"},
	{"curl -H \"authorization: bearer velvet-otter-99\" x", "curl -H \"authorization: bearer <token>\" x"},
	{"this server uses bearer authentication", ""},
	{"model sk-learn-7b and hf_transfer are no keys", ""},
	// Secrets by their name.
	{"ServerArgs(tp_size=8, api_key='velvet-otter', admin_api_key=None)", "ServerArgs(tp_size=8, api_key='<token>', admin_api_key=None)"},
	{"Namespace(port=8000, api_key=['k1', 'k2'], allow_credentials=False)", "Namespace(port=8000, api_key=[<token>], allow_credentials=False)"},
	{`non-default args: {'api_key': ['k1'], 'port': 8000}`, `non-default args: {'api_key': [<token>], 'port': 8000}`},
	{`{"api_key": "velvet", "model": "acme/rocket-8b"}`, `{"api_key": "<token>", "model": "acme/rocket-8b"}`},
	{`{"log":"api_key: \"velvet\"\n","stream":"stderr"}`, `{"log":"api_key: \"<token>\"\n","stream":"stderr"}`},
	{"vllm serve acme/rocket-8b --api-key velvet-otter --port 8000", "vllm serve acme/rocket-8b --api-key <token> --port 8000"},
	{"vllm serve --api-key=velvet-otter --port 8000", "vllm serve --api-key=<token> --port 8000"},
	{`command: ["vllm", "--api-key", "velvet", "--port", "8000"]`, `command: ["vllm", "--api-key", "<token>", "--port", "8000"]`},
	{"docker run -e HF_TOKEN=abc123 -e OPENAI_API_KEY=zzz image", "docker run -e HF_TOKEN=<token> -e OPENAI_API_KEY=<token> image"},
	{"export HUGGING_FACE_HUB_TOKEN=\"abc\"", "export HUGGING_FACE_HUB_TOKEN=\"<token>\""},
	{"AWS_SECRET_ACCESS_KEY=wJalr/K7MDENG+bPx", "AWS_SECRET_ACCESS_KEY=<token>"},
	{"WANDB_API_KEY: 0123abcd", "WANDB_API_KEY: <token>"},
	{"password: hunter", "password: <token>"},
	{"REDIS_PASSWORD=hunter2", "REDIS_PASSWORD=<token>"},
	{"ssl_keyfile_password='open sesame'", "ssl_keyfile_password='<token>'"},
	{"GET /v1/models?api_key=abc123&x=1", "GET /v1/models?api_key=<token>&x=1"},
	{"'otlp_traces_endpoint': 'https://otel.acme.example/?token=velvet7'", "'otlp_traces_endpoint': 'https://<host-1>/?token=<token>'"},
	{"https://huggingface.co/f?X-Amz-Date=1&X-Amz-Credential=AK/1&X-Amz-Signature=0a1b&sig=Zz%2F&key=k1#top", "https://huggingface.co/f?X-Amz-Date=1&X-Amz-Credential=<token>&X-Amz-Signature=<token>&sig=<token>&key=<token>#top"},
	{"https://huggingface.co/f?max_tokens=5&keyword=a&token=${T}", ""},
	{"vllm serve --api-key keyOne1 keyTwo2 'key 3' --port 8000", "vllm serve --api-key <token> <token> '<token>' --port 8000"},
	{`["--api-key", "k1", "k2", "--port", "8000"]`, `["--api-key", "<token>", "<token>", "--port", "8000"]`},
	{"vllm serve --api-key velvet7 2>&1 | tee x9", "vllm serve --api-key <token> 2>&1 | tee x9"},
	{"start with --api-key velvet7 to close the server", "start with --api-key <token> to close the server"},
	{"vllm serve m --api-key k1", "vllm serve m --api-key <token>"},
	{`vllm serve --header 'X-Api-Key: '"$X_API_KEY" --kv '{"password":"'"$PASSWORD"'","n":1}'`, ""},
	{"Please set a HF_TOKEN to enable higher rate limits", ""},
	{"api_key=None, hf_token=null, password=''", ""},
	{"-e HF_TOKEN=$HF_TOKEN -e API_KEY=${KEY}", ""},
	{"HF_TOKEN=<YOUR_TOKEN>", ""},
	{"api_key: missing", ""},
	{"        api_key=self.api_key,", ""},
	{"db.user_token=velvet-otter-1", "db.user_token=<token>"},
	{`HTTPS_PROXY=http://amy:"$PW"@proxy7:3128`, `HTTPS_PROXY=http://<user-1>:"$PW"@<host-1>:3128`},
	{"HTTPS_PROXY=http://amy:${PW}@proxy7:3128", "HTTPS_PROXY=http://<user-1>:${PW}@<host-1>:3128"},
	{"mask_token=<|MASK|>, eos_token='</s>', mask_token_id=12", ""},
	{"max_tokens=16, token='!'", ""},
	{"tokenizer_mode=auto, tokenizer='acme/rocket-8b'", ""},
	// People.
	{"File \"/home/alice/venv/lib/python3.12/site-packages/x.py\", line 7", "File \"/home/<user-1>/venv/lib/python3.12/site-packages/x.py\", line 7"},
	{"/Users/bob/models and /mnt/home/alice/x", "/Users/<user-1>/models and /mnt/home/<user-2>/x"},
	{`C:\Users\Carol Smith\models`, `C:\Users\<user-1>\models`},
	{"/home/alice/a then /scratch/alice/b", "/home/<user-1>/a then /scratch/<user-1>/b"},
	{"/home/ubuntu/a then /opt/ubuntu/b", "/home/<user-1>/a then /opt/ubuntu/b"},
	{"/root/.cache/huggingface", ""},
	{"USER=alice LOGNAME=root", "USER=<user-1> LOGNAME=root"},
	{"mail alice@acme.example", "mail <email-1>"},
	{"alice@gpu-17:~/work$ vllm serve", "<user-1>@<host-1>:~/work$ vllm serve"},
	{"root@rocket-589cfd-8x4fk:/vllm-workspace#", "root@<host-1>:/vllm-workspace#"},
	{"[alice@gpu17 work]$ ls", "[<user-1>@<host-1> work]$ ls"},
	{"ssh alice@gpu17", "ssh <user-1>@<host-1>"},
	{"git@github.com:acme/rocket.git", ""},
	{"memcpy@GLIBC_2.14, foo@libcudart.so, sglang@0.5.9", ""},
	// Hosts.
	{"gpu-17:1234:5678 [3] NCCL INFO Bootstrap : Using eth0", "<host-1>:1234:5678 [3] NCCL INFO Bootstrap : Using eth0"},
	{"(Worker) gpu-17:1:2 [0] NCCL INFO x on gpu-17", "(Worker) <host-1>:1:2 [0] NCCL INFO x on <host-1>"},
	{"Feb 19 00:19:10 gpu17 python[812]: Load weight begin.", "Feb 19 00:19:10 <host-1> python[812]: Load weight begin."},
	{"2026-02-19T00:19:10+0000 gpu17 kernel: Out of memory", "2026-02-19T00:19:10+0000 <host-1> kernel: Out of memory"},
	{"MASTER_ADDR=gpu17 MASTER_PORT=29500", "MASTER_ADDR=<host-1> MASTER_PORT=29500"},
	{"--dist-init-addr node-a.acme.example:5000 --nnodes 2", "--dist-init-addr <host-1>:5000 --nnodes 2"},
	{"dist_init_addr='gpu17:5000', nnodes=2", "dist_init_addr='<host-1>:5000', nnodes=2"},
	{"init_method tcp://gpu17:29500", "init_method tcp://<host-1>:29500"},
	{"socket connected to [gpu17.acme.example]:29500", "socket connected to [<host-1>]:29500"},
	{"ip-10-0-3-17.ec2.internal is ready", "<host-1> is ready"},
	{"see gpu17.cluster.local, then gpu17", "see <host-1>, then <host-1>"},
	{"POST http://router.acme-llm.net:8000/v1 failed", "POST http://<host-1>:8000/v1 failed"},
	{"redis://alice:hunter2@cache7:6379/0", "redis://<user-1>:<token>@<host-1>:6379/0"},
	{"https://huggingface.co/acme/rocket-8b https://github.com/x/y/issues/1 https://docs.pytorch.org/x", ""},
	{"http://localhost:8000 host='0.0.0.0' host=localhost host=None", ""},
	{"[rank0]:[W219 00:19:10.1 socket.cpp:200] [core.py]:1348 [INFO]:10", ""},
	{"Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)", ""},
	{"gpu01.prod.acme-corp.internal-vllm-1  | INFO on gpu01.prod.acme-corp.internal", "<host-1>-vllm-1  | INFO on <host-1>"},
	{"gpu01.acme.lan_vllm_1 |", "<host-1>_vllm_1 |"},
	// Addresses.
	{"Init COMPLETE 10.1.2.3:4567 and 10.1.2.3, 10.1.2.4", "Init COMPLETE <ip-1>:4567 and <ip-1>, <ip-2>"},
	{"range 10.0.0.1-10.0.0.5", "range <ip-1>-<ip-2>"},
	{"(RayWorkerWrapper pid=221, ip=10.24.15.102) up", "(RayWorkerWrapper pid=221, ip=<ip-1>) up"},
	{"NET/IB : fe80::1cec:56ff:fe9c:9ac7%11<42363>", "NET/IB : <ip-1>%11<42363>"},
	{"listening on [2001:db8::17]:8000", "listening on [<ip-1>]:8000"},
	{"INFO: 127.0.0.1:34940 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK; ::1 0.0.0.0", ""},
	{"sglang 0.5.9.1, nvidia-cufft-cu12==11.0.2.54, nvidia-curand-cu12   10.3.5.147  pypi", ""},
	{"opencv_python-4.11.0.86-cp37-abi3.whl, cuDNN version 9.10.2.21, CUDA 12.4.131", ""},
	{"[2026-02-19 00:19:10.123] 12:34:56:78 std::vector<at::Tensor> c10::Error abc::def", ""},
	// Prompts and ids.
	{"Received request cmpl-7: prompt: 'It\\'s a secret', params: SamplingParams(n=1), prompt_token_ids: [1, 22, 333], lora_request: None.", "Received request cmpl-7: prompt: '<prompt 14 chars>', params: SamplingParams(n=1), prompt_token_ids: [<ids 3>], lora_request: None."},
	{"Receive: obj=GenerateReqInput(rid='1', text='hello \"you\"', input_ids=[1, 2], sampling_params={'temperature': 0})", "Receive: obj=GenerateReqInput(rid='1', text='<prompt 11 chars>', input_ids=[<ids 2>], sampling_params={'temperature': 0})"},
	{"messages=[{'role': 'user', 'content': 'a ] b'}], stream=True", "messages=[<prompt 36 chars>], stream=True"},
	{`{"messages":[{"role":"user","content":"a\"]"}],"model":"m"}`, `{"messages":[<prompt 32 chars>],"model":"m"}`},
	{`{"log":"{\"prompt\": \"a \\\"b\\\" c\", \"n\": 1}\n"}`, `{"log":"{\"prompt\": \"<prompt 13 chars>\", \"n\": 1}\n"}`},
	{"prompt: \"cut in the mid", "prompt: \"<prompt 14 chars>"},
	{"input_ids=tensor([[1, 2], [3, 4]]), x=1", "input_ids=tensor([<ids 4>]), x=1"},
	{"prompt_token_ids: [1, 2, 3", "prompt_token_ids: [<ids 3>"},
	{"out={'text': ' Paris', 'output_ids': [5], 'meta_info': {'finish_reason': 'stop'}}", "out={'text': '<prompt 6 chars>', 'output_ids': [<ids 1>], 'meta_info': {'finish_reason': 'stop'}}"},
	{"prompt: None, input_ids=[], limit_mm_per_prompt={'image': 1}, stop_token_ids=[7]", ""},
	{"llama_context: n_ctx = 4096, text: n_batch = 512", ""},
	// What a report needs.
	{"[2026-02-19 00:21:46 TP0] Load weight end. type=RocketForCausalLM, dtype=torch.bfloat16, avail mem=30.10 GB", ""},
	{"WARNING server_args.py:1177: Set NSA backends for fp8_e4m3 KV Cache: prefill=flashmla_auto", ""},
	{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.10 GiB", ""},
	{"python -m sglang.launch_server --model-path acme/rocket-8b --tp 8 --host 0.0.0.0 --port 8000 --kv-cache-dtype fp8_e4m3", ""},
	{"File \"/usr/lib/python3/dist-packages/vllm/v1/engine/core.py\", line 1348, in run_engine_core", ""},
}

func TestText(t *testing.T) {
	if len(tests) < 60 {
		t.Fatalf("only %d lines", len(tests))
	}
	for _, tt := range tests {
		want := tt.want
		if want == "" {
			want = tt.in
		}
		r := New()
		got := r.Text(tt.in)
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", tt.in, got, want)
		}
		checkStable(t, r, got)
	}
}

// checkStable checks that redacting again changes nothing.
func checkStable(t *testing.T, r *Redactor, s string) {
	t.Helper()
	if again := r.Text(s); again != s {
		t.Errorf("a second pass changes\n%q to\n%q", s, again)
	}
	if again := New().Text(s); again != s {
		t.Errorf("a second pass without memory changes\n%q to\n%q", s, again)
	}
}

func TestNamesStayEqual(t *testing.T) {
	r := New()
	got := r.Text("up on gpu-17\ngpu-17:1:2 [0] NCCL INFO a\nGPU-17:1:3 [1] NCCL INFO b\ngpu-18:1:4 [2] NCCL INFO c\n")
	want := "up on <host-1>\n<host-1>:1:2 [0] NCCL INFO a\n<host-1>:1:3 [1] NCCL INFO b\n<host-2>:1:4 [2] NCCL INFO c\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := r.Text("later: gpu-18"); got != "later: <host-2>" {
		t.Errorf("a name was forgotten: %s", got)
	}
}

func TestNamesAreBounded(t *testing.T) {
	r := New()
	for i := range maxNames + 10 {
		r.host(fmt.Sprintf("gpu-%d", i))
	}
	if r.hosts.size() != maxNames {
		t.Errorf("%d names kept", r.hosts.size())
	}
	if got := r.host("one-more"); got != "<host>" {
		t.Errorf("got %s", got)
	}
}

func TestValue(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"api_key", "x", "<token>"}, {"--api-key", "x", "<token>"}, {"HF_TOKEN", "", ""}, {"api_key", "None", "None"},
		{"password", "x", "<token>"}, {"host", "0.0.0.0", "0.0.0.0"}, {"host", "gpu17", "<host-1>"}, {"dist_init_addr", "gpu17:5000", "<host-1>:5000"},
		{"prompt", "abc", "<prompt 3 chars>"}, {"model_path", "/home/alice/m", "/home/<user-1>/m"}, {"tp_size", "8", "8"}, {"USER", "alice", "<user-1>"},
	} {
		if got := New().Value(tt.name, tt.value); got != tt.want {
			t.Errorf("Value(%s, %s) = %s, want %s", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestArgs(t *testing.T) {
	in := []string{"vllm", "serve", "/home/alice/m", "--api-key", "secret", "--token=abc", "--enable-x", "--port", "8000", "--master-addr", "gpu17", "HF_TOKEN=zzz"}
	want := []string{"vllm", "serve", "/home/<user-1>/m", "--api-key", "<token>", "--token=<token>", "--enable-x", "--port", "8000", "--master-addr", "<host-1>", "HF_TOKEN=<token>"}
	keep := strings.Join(in, " ")
	if diff := cmp.Diff(want, New().Args(in)); diff != "" {
		t.Error(diff)
	}
	if strings.Join(in, " ") != keep {
		t.Error("Args changed its argument")
	}
}

func TestSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"HF_TOKEN": true, "--hf-token": true, "model.hf_token": true, "--api-key": true, "OPENAI_API_KEY": true, "api_keys": true, "apiKey": true,
		"--admin-api-key": true, "AWS_ACCESS_KEY_ID": true, "AWS_SECRET_ACCESS_KEY": true, "PRIVATE_KEY": true, "--ssl-keyfile-password": true,
		"DB_PASSWORD": true, "MYSQL_PWD": true, "passphrase": true, "CLIENT_SECRET": true, "GOOGLE_CREDENTIALS": true, "token": true, "Authorization": true, "x-api-key": true,
		"eos_token": false, "--bos-token": false, "max_prompt_adapter_token": false, "pad_token": false, "image_token": false, "MAX_TOKEN": false, "time_to_first_token": false,
		"timings_per_token": false, "eos_token_id": false, "--max-total-tokens": false, "--tokenizer": false, "--speculative-token-map": false,
		"--ssl-keyfile": false, "KEY": false, "routing_key": false, "PWD": false, "OLDPWD": false, "hf_token.path": false, "": false, ".": false,
	} {
		if SecretName(name) != want {
			t.Errorf("SecretName(%q) = %v", name, !want)
		}
	}
}

func TestSecretsIn(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"nothing http://proxy:3128 a@b", nil},
		{"http://amy:velvet@proxy:3128 and Bearer abcDEF123456", []string{"velvet", "abcDEF123456"}},
		{"Bearer hf_QwErTyUiOpAsDfGhJkLzXcVb", []string{"hf_QwErTyUiOpAsDfGhJkLzXcVb"}},
		{"http://amy:$PW@proxy http://amy:${PW}@proxy http://amy:<token>@proxy", nil},
	} {
		var got []string
		for _, p := range SecretsIn(tt.in) {
			got = append(got, tt.in[p[0]:p[1]])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.in, diff)
		}
	}
}

func TestNewSecrets(t *testing.T) {
	const in = "alice@gpu-17:~$ HF_TOKEN=abc HTTPS_PROXY=http://amy:velvet@proxy7:3128 vllm serve --api-key k --master-addr gpu17 text='hello'"
	const want = "alice@gpu-17:~$ HF_TOKEN=<token> HTTPS_PROXY=http://amy:<token>@proxy7:3128 vllm serve --api-key <token> --master-addr gpu17 text='hello'"
	r := NewSecrets()
	if got := r.Text(in); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := r.Text(want); got != want {
		t.Errorf("a second pass gives %s", got)
	}
}

func stream(t *testing.T, r *Redactor, s string) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Stream(strings.NewReader(s), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestStream(t *testing.T) {
	var in, want strings.Builder
	for _, tt := range tests {
		in.WriteString(tt.in + "\r\n")
		// Names are numbered over the whole stream: compare with Text of the line.
	}
	r := New()
	for line := range strings.Lines(in.String()) {
		want.WriteString(r.Text(strings.TrimSuffix(line, "\n")) + "\n")
	}
	if diff := cmp.Diff(want.String(), stream(t, New(), in.String())); diff != "" {
		t.Error(diff)
	}
	for _, s := range []string{"", "\n", "no end", "\n\nx"} {
		if got := stream(t, New(), s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestStreamLongLines(t *testing.T) {
	words := strings.Repeat("lorem ipsum ", maxLine/4)
	tests := []struct{ name, in, want string }{
		{"plain", words + "end\nx\n", words + "end\nx\n"},
		{"secret at a cut", words + " --api-key velvet " + words + "\n", words + " --api-key <token> " + words + "\n"},
		{"long prompt", "a prompt: '" + words + "', b\nx", fmt.Sprintf("a prompt: '<prompt %d chars>', b\nx", len(words))},
		{"long list", "input_ids=[" + strings.Repeat("17, ", maxLine) + "1], b\n", fmt.Sprintf("input_ids=[<ids %d>], b\n", maxLine+1)},
		{"never closed", "text=\"" + words + "\nx\n", fmt.Sprintf("text=\"<prompt %d chars>\nx\n", len(words))},
		{"no white space", strings.Repeat("x", 3*maxLine) + "\n", strings.Repeat("x", 3*maxLine) + "\n"},
	}
	for _, tt := range tests {
		if got := stream(t, New(), tt.in); got != tt.want {
			t.Errorf("%s: %d bytes became %d: %.60q ... %.60q", tt.name, len(tt.in), len(got), got, got[max(0, len(got)-60):])
		}
	}
	// Wherever the cut falls, the secret must go.
	for shift := range 12 {
		pad := strings.Repeat("y", maxLine-14-2*shift) + " "
		if got := stream(t, New(), pad+"--api-key velvet-otter x"+words+"\n"); strings.Contains(got, "velvet") {
			t.Errorf("shift %d: the secret stays", shift)
		}
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Read([]byte) (int, error)  { return 0, errBroken }
func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestStreamErrors(t *testing.T) {
	if err := New().Stream(broken{}, io.Discard); !errors.Is(err, errBroken) {
		t.Errorf("read error: %v", err)
	}
	if err := New().Stream(strings.NewReader("x"), broken{}); !errors.Is(err, errBroken) {
		t.Errorf("write error: %v", err)
	}
}

func FuzzText(f *testing.F) {
	for _, tt := range tests {
		f.Add(tt.in)
	}
	f.Add("a\nb\r\nc\x00\xff")
	f.Fuzz(func(t *testing.T, s string) {
		r := New()
		got := r.Text(s)
		if a, b := strings.Count(s, "\n"), strings.Count(got, "\n"); a != b {
			t.Fatalf("%d line ends became %d", a, b)
		}
		checkStable(t, r, got)
		if a, b := strings.Count(s, "\n"), strings.Count(stream(t, New(), s), "\n"); a != b {
			t.Fatalf("%d line ends became %d in a stream", a, b)
		}
	})
}
