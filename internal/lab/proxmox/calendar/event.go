// Package calendar implements the calendar events by which jobs are scheduled, a subset of systemd's (proxmox-rs
// proxmox-time/src/calendar_event.rs).
package calendar

import (
	"slices"
	"time"
)

// Event is a point in time that recurs. Lists that are empty allow every value.
type Event struct {
	utc  bool
	days []time.Weekday

	year, month, day, hour, minute, second []span
}

// span is a value, a range of values, or one that is repeated.
type span struct {
	Start, End, Step int
	// Open spans have no end.
	Open bool
}

func single(n int) []span { return []span{{Start: n, End: n}} }

func (s span) contains(n int) bool {
	switch {
	case n < s.Start, !s.Open && n > s.End:
		return false
	case s.Step > 0:
		return (n-s.Start)%s.Step == 0
	default:
		return !s.Open || n == s.Start
	}
}

func contains(list []span, n int) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(s span) bool { return s.contains(n) })
}

// horizon limits the search, as for the 30th of February.
const horizon = 30 * 366

// Next returns the first time after another one, in a time zone unless the event is in UTC; false if there is none.
func (e Event) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	if e.utc {
		zone = time.UTC
	}

	from := after.In(zone).Truncate(time.Second).Add(time.Second)

	for n := range horizon {
		day := time.Date(from.Year(), from.Month(), from.Day()+n, 0, 0, 0, 0, zone)
		if !e.onDay(day) {
			continue
		}

		if at, ok := e.within(day, from); ok {
			return at, true
		}
	}

	return time.Time{}, false
}

func (e Event) onDay(day time.Time) bool {
	return contains(e.year, day.Year()) && contains(e.month, int(day.Month())) && contains(e.day, day.Day()) &&
		(len(e.days) == 0 || slices.Contains(e.days, day.Weekday()))
}

// within returns the first time of a day that is not before another one.
func (e Event) within(day, from time.Time) (time.Time, bool) {
	for hour := range 24 {
		for minute := range 60 {
			if !contains(e.hour, hour) || !contains(e.minute, minute) {
				continue
			}

			for second := range 60 {
				at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, second, 0, day.Location())
				if contains(e.second, second) && !at.Before(from) {
					return at, true
				}
			}
		}
	}

	return time.Time{}, false
}
