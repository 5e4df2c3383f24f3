// Package report turns the message stream of package finding into documents
// for people and for CI: Text for a terminal, Markdown for a bug report, HTML
// as one self-contained file, JUnit for a build server. Each is a
// finding.Handler, and each is made from the messages and nothing else.
//
// The way through the package: a gatherer copies the messages of one launch,
// redacted and free of control characters, into a launch; newView decides once
// what is worth showing of it and in which words; the four formats only lay
// out a view. The JSON format is finding.Encoder.
//
// Terms: a suspect is a finding that may be the cause, numbered in the order
// of likelihood; an action is a remedy as it is offered, lettered over all
// suspects; a position is file:line, without the file when there is only one.
package report

import (
	"shakedown/internal/redact"
	"shakedown/internal/term"
)

// Options is what all formats can be told. The zero value is usable.
type Options struct {
	// Width is the number of columns of Text; 0 means term.DefaultWidth.
	Width int
	// Style emphasises Text; the zero value is plain.
	Style term.Style
	// Full adds timeline, ledger, facts and all evidence.
	Full bool
	// Redact is applied to every string of the stream; nil shows all.
	Redact *redact.Redactor
	// Files are the names of the inputs; positions name the file when there is
	// more than one.
	Files []string
}
