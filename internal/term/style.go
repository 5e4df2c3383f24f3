package term

// Style adds emphasis by meaning, so that colours are chosen in one place. The
// zero value adds nothing. Values may be copied and used concurrently.
type Style struct {
	on bool
}

// SGR parameters (ECMA-48, section 8.3.117) of the eight basic colours, which
// every terminal and both background themes can show.
const (
	sgrBold    = "1"
	sgrDim     = "2"
	sgrRed     = "1;31"
	sgrGreen   = "1;32"
	sgrYellow  = "33"
	sgrHeading = "1;36"
)

// Bad marks a failure.
func (s Style) Bad(t string) string { return s.wrap(sgrRed, t) }

// Good marks what works.
func (s Style) Good(t string) string { return s.wrap(sgrGreen, t) }

// Warn marks what may be wrong.
func (s Style) Warn(t string) string { return s.wrap(sgrYellow, t) }

// Dim marks what can be skipped.
func (s Style) Dim(t string) string { return s.wrap(sgrDim, t) }

// Bold marks what should be read first.
func (s Style) Bold(t string) string { return s.wrap(sgrBold, t) }

// Head marks the name of a section.
func (s Style) Head(t string) string { return s.wrap(sgrHeading, t) }

func (s Style) wrap(sgr, t string) string {
	if !s.on || t == "" {
		return t
	}
	return "\x1b[" + sgr + "m" + t + "\x1b[0m"
}
