package cron

import "time"

// searchYears bounds the search for an occurrence. 29 February is at most eight years away.
const searchYears = 10

// Next returns the first occurrence strictly after base, in zone. last is the newest occurrence that was used (run or
// skipped), zero when there is none.
//
// An expression names wall clocks; each wall clock is used once:
//
//   - one that the zone shows once is that instant;
//   - one that the zone leaves out (clocks go forward) is the instant it would have been without the change;
//   - one that the zone shows twice (clocks go back) is its first instant; its second instant stands in only when base
//     is past the first and the wall clock was not used. It was used when last, or base itself being an occurrence,
//     lies in the first pass at or after it.
//
// The second result is false when nothing is due within ten years.
//
// Implements C-124, T-107 to T-111.
func (e Expression) Next(base, last time.Time, zone *time.Location) (time.Time, bool) {
	from := base.Unix() + 1
	limit := base.AddDate(searchYears, 0, 0).Unix()
	for from < limit {
		r := regimeAt(from, zone)
		until := min(r.end, limit)
		unused := max(from, r.afterUsed(last))
		if e.MatchesWall(base.In(zone)) { // else base is just a time and used nothing up
			unused = max(unused, r.afterUsed(base))
		}
		wall, found := e.nextWall(unused+r.offset, until+r.offset)
		at := wall - r.offset
		if gapEnd := min(r.gapEnd(), until); from < gapEnd {
			if wall, ok := e.nextWall(from+r.before, gapEnd+r.before); ok && (!found || wall-r.before < at) {
				at, found = wall-r.before, true
			}
		}
		if found {
			return time.Unix(at, 0).In(zone), true
		}
		from = until
	}
	return time.Time{}, false
}

// regime is a stretch of time in which a zone keeps one offset. All values are seconds.
type regime struct {
	start, end     int64
	offset, before int64 // before is the offset that ended at start
}

const (
	distantPast   = int64(-1) << 60
	distantFuture = int64(1) << 60
)

func regimeAt(unix int64, zone *time.Location) regime {
	t := time.Unix(unix, 0).In(zone)
	start, end := t.ZoneBounds()
	r := regime{start: distantPast, end: distantFuture, offset: offsetAt(unix, zone)}
	r.before = r.offset
	if !start.IsZero() {
		r.start = start.Unix()
		r.before = offsetAt(r.start-1, zone)
	}
	if !end.IsZero() {
		r.end = end.Unix()
	}
	return r
}

func offsetAt(unix int64, zone *time.Location) int64 {
	_, offset := time.Unix(unix, 0).In(zone).Zone()
	return int64(offset)
}

// gapEnd is where the instants end that stand for the wall clocks left out at the start of the regime.
func (r regime) gapEnd() int64 {
	if r.offset <= r.before {
		return distantPast
	}
	return r.start + r.offset - r.before
}

// afterUsed returns the first instant of the regime whose wall clock is later than what was used in the first pass of the
// repeated stretch at its start, or the distant past when used says nothing about it.
func (r regime) afterUsed(used time.Time) int64 {
	repeated := r.before - r.offset
	if repeated <= 0 || used.IsZero() {
		return distantPast
	}
	at := used.Unix()
	if at < r.start-repeated || at >= r.start {
		return distantPast
	}
	return at + r.before + 1 - r.offset
}

// resolveWall returns the instant of a wall clock (seconds as if UTC): the first of two, and the one without the change
// when the zone leaves it out.
func resolveWall(wall int64, zone *time.Location) time.Time {
	r := regimeAt(wall-15*3600, zone)
	for {
		if at := wall - r.offset; at < r.end {
			if at >= r.start {
				return time.Unix(at, 0).In(zone)
			}
			return time.Unix(wall-r.before, 0).In(zone)
		}
		r = regimeAt(r.end, zone)
	}
}
