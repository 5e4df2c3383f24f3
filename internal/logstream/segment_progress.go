package logstream

import "bytes"

// IsProgress reports whether a segment shows progress, and how far it came:
//
//	Loading safetensors checkpoint shards:  73% Completed | 8/11 [00:33<00:12,  4.08s/it]
//	Capturing batches (bs=1):  50%|#####     | 18/36 [00:01<00:02,  9.93it/s]
//	.......................................
//
// A bar that counts bytes with units gives its percentage, of 100. llama.cpp
// prints a row of about 100 dots and counts nothing else.
func IsProgress(seg []byte) (done, total int, ok bool) {
	if n := dots(seg); n > 0 {
		return n, max(n, 100), true
	}
	done, total, end, ok := progress(seg)
	ok = ok && (len(bytes.TrimSpace(seg[end:])) == 0 || isPostfix(seg[end:]))
	if !ok {
		return 0, 0, false
	}
	return done, total, true
}

// minDots tells a row of progress dots from an author's ellipsis.
const minDots = 10

// dots counts the dots of a line that holds nothing else.
func dots(seg []byte) int {
	seg = bytes.TrimSpace(seg)
	if len(seg) < minDots || len(bytes.TrimLeft(seg, ".")) > 0 {
		return 0
	}
	return len(seg)
}

// progress finds the first tqdm bar of a line and where it ends.
func progress(line []byte) (done, total, end int, ok bool) {
	for from := 0; ; {
		n := bytes.IndexByte(line[from:], '%')
		if n < 0 {
			return 0, 0, 0, false
		}
		from += n + 1
		if done, total, end, ok = bar(line, from); ok {
			return done, total, end, true
		}
	}
}

// maxBar bounds the drawn part of a bar: tqdm fills the width of a terminal,
// and its block characters take three bytes each.
const maxBar = 1200

// bar reads what follows the percent sign that ends at from.
func bar(line []byte, from int) (done, total, end int, ok bool) {
	c := cursor{b: line, i: from}
	if !c.lit(" Completed |") {
		if !c.byte('|') {
			return 0, 0, 0, false
		}
		if _, drawn := c.until('|', maxBar); !drawn {
			return 0, 0, 0, false
		}
	}
	c.spaces()
	done, whole := c.amount()
	if !c.byte('/') {
		return 0, 0, 0, false
	}
	total, whole2 := c.amount()
	if !c.lit(" [") {
		return 0, 0, 0, false
	}
	if _, closed := c.until(']', maxRate); !closed {
		return 0, 0, 0, false
	}
	if !whole || !whole2 {
		done, total = percentBefore(line, from-1), 100
	}
	return done, total, c.i, true
}

// maxRate bounds the bracket with times, rate and postfix.
const maxRate = 200

// amount consumes a count; whole is false for one with a unit (1.2G).
func (c *cursor) amount() (n int, whole bool) {
	n, whole = c.number()
	unit := c.word(func(b byte) bool { return isIdent(b) || b == '.' })
	return n, whole && len(unit) == 0
}

// percentBefore reads the number that ends at the percent sign.
func percentBefore(line []byte, sign int) int {
	start := sign
	for start > 0 && isDigit(line[start-1]) {
		start--
	}
	c := cursor{b: line[:sign], i: start}
	n, _ := c.number()
	return n
}
