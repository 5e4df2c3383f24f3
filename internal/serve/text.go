package serve

import "strings"

// stopper cuts an answer before the first of its stop texts. It holds back what
// may turn out to be the beginning of one.
type stopper struct {
	stops []string
	held  string
}

// add takes more text. It returns what may be shown, and the stop text that
// ended the answer, if one did.
func (s *stopper) add(text string) (show, stop string) {
	if len(s.stops) == 0 {
		return text, ""
	}
	s.held += text
	at := -1
	for _, w := range s.stops {
		if n := strings.Index(s.held, w); n >= 0 && (at < 0 || n < at) {
			at, stop = n, w
		}
	}
	if at >= 0 {
		show, s.held = s.held[:at], ""
		return show, stop
	}
	keep := 0
	for _, w := range s.stops {
		for n := min(len(w)-1, len(s.held)); n > keep; n-- {
			if strings.HasSuffix(s.held, w[:n]) {
				keep = n
			}
		}
	}
	show, s.held = s.held[:len(s.held)-keep], s.held[len(s.held)-keep:]
	return show, ""
}

// rest is what was held back, when no more text comes.
func (s *stopper) rest() string {
	rest := s.held
	s.held = ""
	return rest
}
