// Package score measures `shakedown explain` on labelled logs. It runs explain
// in this process and compares its messages with the labels.
//
//	case       one labelled launch of a log, or one incident
//	caused     a case whose label names a cause and the lines that prove it
//	decisive   a line of which any one proves the cause
//	top1       the rank-1 finding has the labelled cause (or an accepted second)
//	           and one of its first five pieces of evidence is a decisive line
//	top3       one of the ranks 1 to 3 has both
//	healthy    a case that is ok without a cause; right when its outcome is ok
//	           and no finding on it is proven or likely, unless info
//	precision  of the proven and likely findings of rank 1 to 3, unless info:
//	           the share that names the labelled cause, an accepted second, or
//	           an accepted consequence (rank > 1 that explains something)
//	split      a log in which as many launches are reported as labelled
//	half       dev (rules may be written from it) or hold (they must not), by
//	           the parity of the SHA-256 of the log's name
//	unseen     a log that a rule was not written from: the hold half
//
// Each share is printed with its 95 % Wilson interval, because a corpus of a
// hundred cases says little about one per cent.
package score
