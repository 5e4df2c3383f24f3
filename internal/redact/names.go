package redact

import (
	"regexp"
	"strconv"
	"strings"
)

// tokenMark replaces a secret. Secrets are not numbered: nobody has to compare
// them.
const tokenMark = "<token>"

func promptMark(chars int) string { return "<prompt " + strconv.Itoa(chars) + " chars>" }

func idsMark(n int) string { return "<ids " + strconv.Itoa(n) + ">" }

// placeholder matches what this package writes, and what people write in its
// place by hand (<YOUR_TOKEN>).
var placeholder = regexp.MustCompile(`^<([a-z]+(-\d+)?( \d+( chars)?)?|[A-Z_ -]+)>$`)

func isPlaceholder(s string) bool { return placeholder.MatchString(s) }

// maxNames bounds the memory of one kind of name; what comes later gets a
// placeholder without a number.
const maxNames = 1 << 14

// names numbers the names of one kind.
type names struct {
	kind   string
	number map[string]int
	next   int
}

func newNames(kind string) names { return names{kind: kind, number: map[string]int{}} }

func (n *names) size() int { return len(n.number) }

// mark returns the placeholder of a name, which is numbered when it is new.
func (n *names) mark(name string) string {
	name = strings.ToLower(name)
	if _, ok := n.number[name]; !ok {
		if len(n.number) >= maxNames {
			return "<" + n.kind + ">"
		}
		n.next++
		n.number[name] = n.next
	}
	return n.known(name)
}

// alias makes another name stand for the same as a marked one.
func (n *names) alias(other, name string) {
	other = strings.ToLower(other)
	if _, ok := n.number[other]; !ok && len(n.number) < maxNames {
		n.number[other] = n.number[strings.ToLower(name)]
	}
}

// known returns the placeholder of a lower-case name, or "" when it has none.
func (n *names) known(name string) string {
	if i, ok := n.number[name]; ok {
		return "<" + n.kind + "-" + strconv.Itoa(i) + ">"
	}
	return ""
}

// wordSet makes a set of the words of a text.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

// commonUsers are account names of images and clouds. They name nobody, and
// they are also names of programs and folders.
var commonUsers = wordSet(`root user users admin administrator ubuntu debian centos fedora ec2-user azureuser runner app
	jovyan vllm sglang llama ollama model models data work workspace workspaces home shared public default test dev llm ai ml
	gpu cache tmp opt usr lib bin src python conda none null nobody`)

// user returns the placeholder of an account name. Root is everywhere.
func (r *Redactor) user(name string) string {
	if name == "" || strings.EqualFold(name, "root") || isPlaceholder(name) || nothing[strings.ToLower(name)] {
		return name
	}
	return r.users.mark(name)
}

// localNames are host names that every machine has, or that name no machine.
var localNames = wordSet(`localhost localhost.localdomain localhost6 ip6-localhost ip6-loopback host.docker.internal
	docker.for.mac.localhost kubernetes.default.svc kubernetes.default.svc.cluster.local metadata.google.internal broadcasthost
	auto any none null true false env static`)

// publicSites are the sites that logs of inference servers point to: of
// software, models and their documentation.
var publicSites = strings.Fields(`huggingface.co hf.co hf-mirror.com modelscope.cn modelscope.ai github.com github.io githubusercontent.com gitlab.com
	pytorch.org python.org pypi.org pythonhosted.org readthedocs.io readthedocs.org nvidia.com nvcr.io amd.com intel.com
	vllm.ai sglang.ai lmsys.org docker.com docker.io ghcr.io quay.io gcr.io kubernetes.io k8s.io ray.io openai.com anthropic.com
	google.com googleapis.com microsoft.com aka.ms apache.org gnu.org llvm.org kernel.org pypa.io tsinghua.edu.cn ustc.edu.cn aliyun.com gh-proxy.org ubuntu.com debian.org redhat.com
	anaconda.com anaconda.org conda.io pydantic.dev wandb.ai stackoverflow.com wikipedia.org arxiv.org mozilla.org w3.org ietf.org
	json-schema.org openmmlab.com triton-lang.org flashinfer.ai dao-ailab.github.io opentelemetry.io prometheus.io grafana.com
	uvicorn.org tiangolo.com encode.io jinja.palletsprojects.com ggml.ai ollama.com example.com example.org example.net`)

// isPublic says that a host name tells nothing about whose log this is.
func isPublic(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if localNames[host] || strings.HasSuffix(host, ".localhost") {
		return true
	}
	for _, site := range publicSites {
		if host == site || strings.HasSuffix(host, "."+site) {
			return true
		}
	}
	return false
}

// minKnown is the length from which a host name is replaced also where nothing
// marks it as one.
const minKnown = 5

// host returns the placeholder of a host name, and makes it and its first
// label known.
func (r *Redactor) host(name string) string {
	if name == "" || isPublic(name) || strings.Trim(name, "0123456789.:") == "" {
		return name
	}
	mark := r.hosts.mark(name)
	if label, _, ok := strings.Cut(name, "."); ok && telling(label) {
		r.hosts.alias(label, name)
	}
	return mark
}

// telling says that a word is hardly anything but a machine's name: it holds a
// letter and something that words of a language don't.
func telling(word string) bool {
	if len(word) < minKnown {
		return false
	}
	letter, mark := false, false
	for i := range len(word) {
		c := word[i] | 0x20 // lower case, for letters
		if c >= 'a' && c <= 'z' {
			letter = true
		} else {
			mark = true
		}
	}
	return letter && mark
}

const letters = "abcdefghijklmnopqrstuvwxyz"
