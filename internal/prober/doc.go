// Package prober runs the battery of package probe against a server: it announces
// what will be sent, sends it within that bound, has the answers judged, and
// emits one stream of messages. It holds no judgement of its own; which answers
// are wrong is said in package probe.
package prober
