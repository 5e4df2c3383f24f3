package oracle

// Pager is what Weights may also be when they do not all fit into memory: it is
// told which weights are needed soon and which no more, so that the time of a pass
// is that of reading them once, one layer ahead.
type Pager interface {
	// Ahead says that a layer is next. With experts, all of its experts will be
	// needed, else only those that Expert names.
	Ahead(layer int, experts bool)
	// Ready returns when what Ahead asked for is there, and for layer Output what Head
	// did.
	Ready(layer int)
	// Expert says that an expert of a layer is next.
	Expert(layer, expert int)
	// Done says that a layer is not needed before the next pass.
	Done(layer int)
	// Head says that the output matrix is next.
	Head()
}

// Output is the number that stands for the output matrix among layers.
const Output = -1

// noPager is for weights that fit.
type noPager struct{}

func (noPager) Ahead(int, bool) {}
func (noPager) Ready(int)       {}
func (noPager) Expert(int, int) {}
func (noPager) Done(int)        {}
func (noPager) Head()           {}

// manyTokens says whether a pass of n tokens will need about all experts of a
// layer.
func (m *Model) manyTokens(l *layer, n int) bool {
	return l.moe == nil || n*l.moe.TopK >= l.moe.Experts
}

// ahead asks for a layer of the next pass of n tokens, or for what stands behind
// the last.
func (m *Model) ahead(i, n int) {
	if i < len(m.layers) {
		m.pager.Ahead(i, m.manyTokens(m.layers[i], n))
	} else {
		m.pager.Head()
	}
}
