package logstream

// Pending is true while a traceback is unfinished: the following lines must be
// fed too, whatever they look like.
func (t *Tracker) Pending() bool { return len(t.open) > 0 }
