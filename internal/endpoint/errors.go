package endpoint

// Reason is why a server can't be probed.
type Reason string

// Reasons.
const (
	BadURL      Reason = "address"     // the address itself
	BadKey      Reason = "key"         // the key itself
	Unreachable Reason = "unreachable" // no connection, or no answer in time
	BadTLS      Reason = "tls"         // the connection can't be trusted
	Denied      Reason = "denied"      // 401 or 403
	NotServer   Reason = "not-server"  // something else answered
	WrongPath   Reason = "path"        // it has no such path
	NoModels    Reason = "no-models"   // it serves nothing, or not what was asked for
	NotReady    Reason = "not-ready"   // it says that it is still starting
)

// Error says why a server can't be probed and what to do next.
type Error struct {
	Reason Reason
	URL    string // without secrets
	Status int    // HTTP status, 0: none
	Text   string // what happened, in one sentence without its full stop
	Next   string // what to do: whole sentences
	Err    error  // what the network said; nil: nothing
}

// Error is Text with the address.
func (e *Error) Error() string {
	if e.URL == "" {
		return e.Text
	}
	return e.URL + ": " + e.Text
}

// Unwrap is the network's own error.
func (e *Error) Unwrap() error { return e.Err }
