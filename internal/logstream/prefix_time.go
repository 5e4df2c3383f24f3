package logstream

// Time is a point in time as a log line states it. Engines leave parts out:
// vLLM prints no year, llama.cpp the time since its start. No zone is known, so
// that times of different hosts compare only after their clocks were matched.
type Time struct {
	// Sec are seconds: since 1970 as if the wall clock were UTC when HasDate and
	// HasYear, since 1 January (of a leap year) when only HasDate, since the
	// start of the program when Elapsed, else since midnight.
	Sec                       float64
	HasDate, HasYear, Elapsed bool
	// set tells midnight from no time at all.
	set bool
}

// IsZero is true for a line without a time.
func (t Time) IsZero() bool { return !t.set }

// Sub returns the seconds from an earlier time to t. ok is false when the two
// state different things, or one of them nothing. Times without a year run
// backwards over New Year, times without a date over midnight.
func (t Time) Sub(earlier Time) (seconds float64, ok bool) {
	if !t.set || !earlier.set || t.HasDate != earlier.HasDate || t.HasYear != earlier.HasYear || t.Elapsed != earlier.Elapsed {
		return 0, false
	}
	return t.Sec - earlier.Sec, true
}

const secondsPerDay = 24 * 60 * 60

// leapMonths are the lengths of the months of a leap year: a date without a
// year may be 29 February.
var leapMonths = [12]int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// leapDay is the number of days before a date in a leap year.
func leapDay(month, day int) (int, bool) {
	if month < 1 || month > 12 || day < 1 || day > leapMonths[month-1] {
		return 0, false
	}
	n := day - 1
	for _, m := range leapMonths[:month-1] {
		n += m
	}
	return n, true
}

func monthDayTime(month, day int, clock float64) (Time, bool) {
	n, ok := leapDay(month, day)
	return Time{Sec: float64(n)*secondsPerDay + clock, HasDate: true, set: true}, ok
}

func dateTime(year, month, day int, clock float64) (Time, bool) {
	if _, ok := leapDay(month, day); !ok {
		return Time{}, false
	}
	return absolute(float64(daysSinceEpoch(year, month, day))*secondsPerDay + clock), true
}

func absolute(sec float64) Time {
	return Time{Sec: sec, HasDate: true, HasYear: true, set: true}
}

// daysSinceEpoch counts the days from 1970-01-01 in the Gregorian calendar. It
// is the "days from civil" method, which counts years from 1 March so that the
// leap day comes last; the time package needs ten times as long.
func daysSinceEpoch(year, month, day int) int {
	if month <= 2 {
		year--
		month += 12
	}
	yearDay := (153*(month-3)+2)/5 + day - 1
	const yearZeroTo1970 = 719468
	return year*365 + year/4 - year/100 + year/400 + yearDay - yearZeroTo1970
}

// clock consumes HH:MM:SS with an optional fraction behind a dot or comma, and
// returns the seconds since midnight.
func (c *cursor) clock() (float64, bool) {
	start := c.i
	h, ok1 := c.digits(2)
	ok1 = ok1 && c.byte(':')
	m, ok2 := c.digits(2)
	ok2 = ok2 && c.byte(':')
	s, ok3 := c.digits(2)
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || s > 60 {
		c.i = start
		return 0, false
	}
	sec := float64(h*3600 + m*60 + s)
	if sep := c.peek(); (sep == '.' || sep == ',') && c.i+1 < len(c.b) && isDigit(c.b[c.i+1]) {
		c.i++
		sec += c.fraction()
	}
	return sec, true
}

// isoTime consumes YYYY-MM-DD, one of ' ', 'T' or '-', HH:MM:SS with an
// optional fraction, and an optional zone (Z, +hh:mm), which is applied.
func (c *cursor) isoTime() (Time, bool) {
	start := c.i
	year, ok := c.digits(4)
	ok = ok && c.byte('-')
	month, ok1 := c.digits(2)
	ok = ok && ok1 && c.byte('-')
	day, ok1 := c.digits(2)
	if ok = ok && ok1 && (c.byte(' ') || c.byte('T') || c.byte('-')); !ok {
		c.i = start
		return Time{}, false
	}
	sec, ok := c.clock()
	if ok {
		// Ascend writes milliseconds and microseconds as two groups.
		if sep := c.peek(); sep == '.' && c.i+1 < len(c.b) && isDigit(c.b[c.i+1]) {
			c.i++
			c.fraction()
		}
		sec -= c.zone()
		if t, ok := dateTime(year, month, day, sec); ok {
			return t, true
		}
	}
	c.i = start
	return Time{}, false
}

// zone consumes Z or +hh:mm and returns its offset in seconds.
func (c *cursor) zone() float64 {
	if c.byte('Z') {
		return 0
	}
	start := c.i
	sign := 1.0
	if c.peek() == '-' {
		sign = -1
	}
	if c.byte('+') || c.byte('-') {
		h, ok := c.digits(2)
		c.byte(':')
		m, ok2 := c.digits(2)
		if ok && ok2 {
			return sign * float64(h*3600+m*60)
		}
	}
	c.i = start
	return 0
}
