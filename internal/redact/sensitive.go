package redact

// hidden is what every way of printing a Sensitive shows.
const hidden = "***"

// Sensitive is a secret that was read from outside. Printed, formatted or
// encoded as JSON it shows as "***"; Reveal is the only way to the text.
type Sensitive string

// String hides the secret from %s, %v and fmt.Println.
func (Sensitive) String() string { return hidden }

// GoString hides the secret from %#v.
func (Sensitive) GoString() string { return hidden }

// MarshalJSON hides the secret from encoding/json.
func (Sensitive) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// Reveal returns the secret itself, for the one place that needs it.
func (s Sensitive) Reveal() string { return string(s) }
