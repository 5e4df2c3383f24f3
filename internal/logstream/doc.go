// Package logstream turns bytes from anywhere into numbered lines of log text,
// and lines into log records.
//
// A source is one named stream: a file, standard input, or one member of an
// archive. Find turns command-line arguments into sources; opening one undoes
// its compression. A Reader cuts a stream into blocks of whole physical lines in
// constant memory. A physical line ends at a line feed (LF) and nowhere else;
// lines are numbered from 1, and offsets count the bytes of the decompressed
// stream (of its UTF-8 form when it is UTF-16) from 0.
//
// A wrapper is what a collector, a terminal or an author has put around the
// server's own output: docker's JSON, a service name of docker compose or
// podman-compose, a Kubernetes time stamp, the pod and container of kubectl,
// stern or kubetail, a task of srun, host and unit of journalctl or syslog,
// Loki's labels, a log stream of CloudWatch, a job and step of CI, a field of a
// JSON object, a quote mark, a notebook's JSON, the line ends of a terminal's
// width. Unwrapping removes it and keeps the numbers; what was several physical
// lines has the number of the first. Several wrappers around each other are
// layers, outermost first; a line without the wrapper of its neighbours passes
// unchanged. Prose is text of the author around the log, outside code fences.
//
// The second half of the package takes such a line apart: segments (what a
// terminal would show as separate lines), prefixes (time, level, process, rank)
// and tracebacks.
package logstream
