package redact

import (
	"net/netip"
	"regexp"
	"strings"
)

// shapes replaces what gives itself away without a name. Each part runs only on
// a line that holds what the part begins with: most lines hold none of it.
func (r *Redactor) shapes(s string) string {
	s = hideSecrets(s)
	if strings.Contains(s, "://") {
		s = r.urls(s)
	}
	if strings.Contains(s, "@") {
		s = r.mailsAndLogins(s)
	}
	s = r.homes(s)
	s = r.logHosts(s)
	s = r.internalHosts(s)
	s = r.ip(s)
	return r.knownNames(s)
}

// replaceGroups replaces each match of re by what fn makes of its groups.
func replaceGroups(re *regexp.Regexp, s string, fn func(groups []string) string) string {
	found := re.FindAllStringSubmatchIndex(s, -1)
	if found == nil {
		return s
	}
	var b strings.Builder
	done := 0
	for _, m := range found {
		groups := make([]string, len(m)/2)
		for i := range groups {
			if m[2*i] >= 0 {
				groups[i] = s[m[2*i]:m[2*i+1]]
			}
		}
		b.WriteString(s[done:m[0]])
		b.WriteString(fn(groups))
		done = m[1]
	}
	b.WriteString(s[done:])
	return b.String()
}

// The host of a URL may follow an account with a password, which is hidden
// before.
var hostURL = regexp.MustCompile(`\b((?:https?|tcp|grpc|rediss?|wss?|nats|etcd|zmq)://)(?:(<user-\d+>|[^/\s:@<>'"]*)(:<token>|:"\$\w+"|:[^/\s@<>'"]*)?@)?([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)?`)

func (r *Redactor) urls(s string) string {
	return replaceGroups(hostURL, s, func(g []string) string {
		account := ""
		if g[2] != "" || g[3] != "" {
			account = r.user(g[2]) + g[3] + "@"
		}
		return g[1] + account + r.host(g[4])
	})
}

var (
	mail = regexp.MustCompile(`\b[A-Za-z0-9][A-Za-z0-9._%+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b`)
	// A shell prompt, or a remote path.
	login = regexp.MustCompile(`\b([A-Za-z_][A-Za-z0-9._-]*)@([A-Za-z0-9][A-Za-z0-9._-]*)(:[~/])`)
	// The prompt of a Red Hat shell.
	bracketLogin = regexp.MustCompile(`(\[)([A-Za-z_][A-Za-z0-9._-]*)@([A-Za-z0-9][A-Za-z0-9._-]*)( [^\]\s]+\][$#])`)
	remote       = regexp.MustCompile(`\b((?:ssh|scp|sftp|rsync)\s(?:[^@\s]+\s+)*)([A-Za-z_][A-Za-z0-9._-]*)@([A-Za-z0-9][A-Za-z0-9._-]*)`)
)

// notDomains end words with an @ that are no mail addresses: versions of
// libraries and files.
var notDomains = wordSet("so py cu cpp cc js json log sh yaml yml txt md")

func (r *Redactor) mailsAndLogins(s string) string {
	s = replaceGroups(login, s, func(g []string) string { return r.login(g[1], g[2]) + g[3] })
	s = replaceGroups(bracketLogin, s, func(g []string) string { return g[1] + r.login(g[2], g[3]) + g[4] })
	s = replaceGroups(remote, s, func(g []string) string { return g[1] + r.login(g[2], g[3]) })
	return replaceGroups(mail, s, func(g []string) string {
		account, domain, _ := strings.Cut(g[0], "@")
		if account == "git" || notDomains[domain[strings.LastIndexByte(domain, '.')+1:]] {
			return g[0]
		}
		return r.mails.mark(g[0])
	})
}

// login replaces account and host of account@host.
func (r *Redactor) login(account, host string) string {
	if account == "git" {
		return account + "@" + host
	}
	return r.user(account) + "@" + r.host(host)
}

var (
	home        = regexp.MustCompile(`(/home/|/Users/)([A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?)`)
	windowsHome = regexp.MustCompile(`([A-Za-z]:\\{1,4}Users\\{1,4})([A-Za-z0-9_][A-Za-z0-9._ -]*?)(\\|$|["'])`)
)

// homes replaces the owner of a home directory.
func (r *Redactor) homes(s string) string {
	if strings.Contains(s, "/home/") || strings.Contains(s, "/Users/") {
		s = replaceGroups(home, s, func(g []string) string { return g[1] + r.user(g[2]) })
	}
	if strings.Contains(s, `\Users\`) {
		s = replaceGroups(windowsHome, s, func(g []string) string { return g[1] + r.user(g[2]) + g[3] })
	}
	return s
}

var (
	// NCCL and RCCL begin their lines with host:pid:tid [device].
	nccl = regexp.MustCompile(`(^|[\s\])])([A-Za-z0-9][A-Za-z0-9._-]*)(:\d+:\d+ \[[-\d?]+\])`)
	// syslog and journald: time, host, program[pid].
	journal = regexp.MustCompile(`^((?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d)?) )([A-Za-z0-9][A-Za-z0-9._-]*)( (?:[A-Za-z0-9._@/-]+\[\d+\]|kernel):)`)
	// torch.distributed: "connected to [host]:port".
	socket = regexp.MustCompile(`(\[)([A-Za-z][A-Za-z0-9-]*[A-Za-z0-9](?:\.[A-Za-z0-9-]+)*)(\]:\d{2,5}\b)`)
	// Names that a cloud makes of addresses.
	cloud = regexp.MustCompile(`\bip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[a-z0-9-]+)*`)
)

// logHosts replaces host names at their places in known log lines.
func (r *Redactor) logHosts(s string) string {
	middle := func(g []string) string { return g[1] + r.host(g[2]) + g[3] }
	if strings.Contains(s, "CCL") {
		s = replaceGroups(nccl, s, middle)
	}
	if strings.Contains(s, "]: ") || strings.Contains(s, " kernel: ") {
		s = replaceGroups(journal, s, middle)
	}
	if strings.Contains(s, "]:") {
		s = replaceGroups(socket, s, func(g []string) string {
			if end := g[2][strings.LastIndexByte(g[2], '.')+1:]; notDomains[end] || strings.ToUpper(g[2]) == g[2] {
				return g[0]
			}
			return middle(g)
		})
	}
	if strings.Contains(s, "ip-") {
		s = replaceGroups(cloud, s, func(g []string) string { return r.host(g[0]) })
	}
	return s
}

// internalEnds are top-level names that exist only inside an organisation (RFC
// 6762 appendix G, RFC 9476, and those that clouds and clusters use).
var internalEnds = []string{".local", ".internal", ".lan", ".corp", ".intranet", ".home.arpa", ".svc", ".localdomain", ".compute.amazonaws.com"}

// internalName matches a name with such an end, and what may stand before it.
const internalName = `(?i)(^|[^A-Za-z0-9_./<>-])((?:[a-z0-9][a-z0-9-]*\.)+(?:local|internal|lan|corp|intranet|home\.arpa|svc|localdomain|compute\.amazonaws\.com))`

var internal = regexp.MustCompile(internalName + `($|[^A-Za-z0-9_.(<>-]|\.$|\.\s)`)

// composed is such a name in the name of a container in front of a line of
// docker compose.
var composed = regexp.MustCompile(internalName + `([-_][\w.-]* +\|(?: |$))`)

func (r *Redactor) internalHosts(s string) string {
	for _, end := range internalEnds {
		if strings.Contains(s, end) {
			if strings.Contains(s, " |") {
				s = replaceGroups(composed, s, func(g []string) string { return g[1] + r.host(g[2]) + g[3] })
			}
			return replaceGroups(internal, s, func(g []string) string { return g[1] + r.host(g[2]) + g[3] })
		}
	}
	return s
}

// endpoint replaces the host of a host:port.
func (r *Redactor) endpoint(v string) string {
	host, port := v, ""
	if i := strings.LastIndexByte(v, ':'); i >= 0 && strings.Trim(v[i+1:], "0123456789") == "" {
		host, port = v[:i], v[i:]
	}
	if !hostName.MatchString(host) {
		return v
	}
	return r.host(host) + port
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// ip replaces addresses; first those of version 4, which can stand within one of
// version 6 or in front of a port.
func (r *Redactor) ip(s string) string {
	if strings.Count(s, ".") >= 3 {
		s = r.addressesIn(s, isV4Byte, isPrivateV4)
	}
	if strings.Contains(s, "::") || strings.Count(s, ":") >= 7 {
		s = r.addressesIn(s, isV6Byte, isPrivateV6)
	}
	return s
}

func isV4Byte(c byte) bool { return c == '.' || c >= '0' && c <= '9' }

func isV6Byte(c byte) bool {
	return c == ':' || c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// addressesIn replaces the runs of characters of an address that private
// accepts, by what stands before and behind them.
func (r *Redactor) addressesIn(s string, in func(byte) bool, private func(before, addr, after string) bool) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		if !in(s[i]) {
			continue
		}
		begin := i
		for i < len(s) && in(s[i]) {
			i++
		}
		run := s[begin:i]
		addr := strings.TrimRight(run, ".")
		if strings.HasSuffix(addr, ":") && !strings.HasSuffix(addr, "::") {
			addr = addr[:len(addr)-1]
		}
		if !private(s[:begin], addr, s[begin+len(addr):]) {
			continue
		}
		b.WriteString(s[done:begin])
		b.WriteString(r.addresses.mark(addr))
		done = begin + len(addr)
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// wordByte says that c continues a word or number.
func wordByte(c byte) bool { return isNameByte(c) && c != '-' }

func endsInWord(s string) bool { return s != "" && wordByte(s[len(s)-1]) }

func isPrivateV4(before, addr, after string) bool {
	if strings.Count(addr, ".") != 3 || endsInWord(strings.TrimRight(before, "_")) || after != "" && (wordByte(after[0]) || after[0] == '+') {
		return false
	}
	a, err := netip.ParseAddr(addr)
	if err != nil || a.IsLoopback() || a.As4()[0] == 0 || addr == "255.255.255.255" {
		return false
	}
	return !isVersion(before, after)
}

// versionWords mark a dotted number as a version when the word before it holds
// one of them.
var versionWords = []string{"version", "release", "cuda", "cudnn", "cublas", "cufft", "curand", "cusolver", "cusparse", "nccl", "rccl", "driver", "rocm", "hip", "nvidia", "cu11", "cu12", "cu13", "torch", "tensorrt", "python", "opencv", "triton", "onnx"}

func isVersion(before, after string) bool {
	for _, end := range []string{"-py", "-cp", "-linux", "-manylinux", ".dev", ".post"} {
		if strings.HasPrefix(after, end) {
			return true
		}
	}
	for _, op := range []string{"==", ">=", "<=", "~=", "!="} {
		if strings.HasSuffix(before, op) {
			return true
		}
	}
	before = strings.TrimRight(before[max(0, len(before)-64):], " \t:='\"(-_")
	word := strings.ToLower(before[strings.LastIndexAny(before, " \t,(")+1:])
	if word == "v" || word == "ver" {
		return true
	}
	for _, w := range versionWords {
		if strings.Contains(word, w) {
			return true
		}
	}
	return false
}

func isPrivateV6(before, addr, after string) bool {
	if strings.Count(addr, ":") < 2 || endsInWord(before) || after != "" && wordByte(after[0]) {
		return false
	}
	if strings.Trim(addr, letters+"ABCDEF:") == "" { // a C++ name
		return false
	}
	a, err := netip.ParseAddr(addr)
	return err == nil && !a.IsLoopback() && !a.IsUnspecified()
}

// knownNames replaces host names that are known from elsewhere, and account
// names where they are a part of a path.
func (r *Redactor) knownNames(s string) string {
	if r.hosts.size() == 0 && r.users.size() == 0 {
		return s
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		if !wordStart(s, i) {
			i++
			continue
		}
		end := i
		for end < len(s) && (isNameByte(s[end]) || s[end] == '.') {
			end++
		}
		word := strings.TrimRight(s[i:end], ".")
		if mark := r.knownWord(s, i, word); mark != "" {
			b.WriteString(s[done:i])
			b.WriteString(mark)
			done = i + len(word)
		}
		i = end
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// wordStart says that a word begins at i that is no part of a placeholder.
func wordStart(s string, i int) bool {
	return isNameByte(s[i]) && (i == 0 || !isNameByte(s[i-1]) && s[i-1] != '.' && s[i-1] != '<')
}

func (r *Redactor) knownWord(s string, at int, word string) string {
	if telling(word) {
		if mark := r.hosts.known(strings.ToLower(word)); mark != "" {
			return mark
		}
	}
	inPath := at > 0 && s[at-1] == '/' && (at+len(word) == len(s) || s[at+len(word)] == '/')
	if low := strings.ToLower(word); inPath && len(word) > 2 && !commonUsers[low] {
		return r.users.known(low)
	}
	return ""
}
