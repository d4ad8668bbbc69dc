package calendar

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// words are the events that have a name.
var words = map[string]Event{
	"minutely":      {second: single(0)},
	"hourly":        {minute: single(0), second: single(0)},
	"daily":         {hour: single(0), minute: single(0), second: single(0)},
	"weekly":        {hour: single(0), minute: single(0), second: single(0), days: []time.Weekday{time.Monday}},
	"monthly":       {hour: single(0), minute: single(0), second: single(0), day: single(1)},
	"yearly":        {hour: single(0), minute: single(0), second: single(0), day: single(1), month: single(1)},
	"annually":      {hour: single(0), minute: single(0), second: single(0), day: single(1), month: single(1)},
	"quarterly":     {hour: single(0), minute: single(0), second: single(0), day: single(1), month: []span{{1, 10, 3, false}}},
	"semiannually":  {hour: single(0), minute: single(0), second: single(0), day: single(1), month: []span{{1, 7, 6, false}}},
	"semi-annually": {hour: single(0), minute: single(0), second: single(0), day: single(1), month: []span{{1, 7, 6, false}}},
}

// Parse parses an event. The errors have the texts of the parser of Proxmox VE (proxmox-time parse_helpers.rs, parse_complete_line).
func Parse(text string) (Event, error) {
	rest, utc := strings.CutSuffix(text, "UTC")
	if utc {
		rest = strings.TrimRight(rest, " ")
	}

	if event, ok := words[rest]; ok {
		event.utc = utc
		return event, nil
	}

	event := Event{utc: utc}

	hasDays, rest, err := event.takeDays(rest)
	if err != nil {
		return Event{}, err
	}

	hasDate, rest := event.takeDate(rest)

	hasTime, rest := event.takeTime(rest)
	if !hasTime {
		event.hour, event.minute, event.second = single(0), single(0), single(0)
	}

	switch {
	case !hasDays && !hasDate && !hasTime:
		return Event{}, failure(rest, `Context("date or time specification")`)
	case rest != "":
		return Event{}, failure(rest, "Nom(Eof)")
	default:
		return event, nil
	}
}

func failure(at, why string) error {
	return fmt.Errorf("unable to parse calendar event at '%s' - %s", at, why)
}

var (
	wordForm   = regexp.MustCompile(`^[A-Za-z]+`)
	numberForm = regexp.MustCompile(`^\d+`)
)

// takeDays reads the days of the week in front of a text.
func (e *Event) takeDays(text string) (found bool, rest string, err error) {
	if !wordForm.MatchString(text) {
		return false, text, nil
	}

	for {
		var first, last time.Weekday

		if first, text, err = takeDay(text); err != nil {
			return false, "", err
		}

		last = first

		if end, isRange := strings.CutPrefix(text, ".."); isRange {
			if day, after, err := takeDay(end); err == nil {
				last, text = day, after
			}
		}

		for day := first; ; day = (day + 1) % 7 {
			e.days = append(e.days, day)

			if day == last {
				break
			}
		}

		next, more := strings.CutPrefix(text, ",")
		if !more || !wordForm.MatchString(next) {
			return true, strings.TrimLeft(text, " \t"), nil
		}

		text = next
	}
}

func takeDay(text string) (time.Weekday, string, error) {
	word := wordForm.FindString(text)

	for day := range time.Saturday + 1 {
		name := strings.ToLower(day.String())
		if lower := strings.ToLower(word); lower == name || lower == name[:3] {
			return day, text[len(word):], nil
		}
	}

	return 0, "", failure(word, `Context("weekday")`)
}

// The values of the parts: the first one, and the first one that is too large (calendar_event.rs, parse_date_spec, parse_time_spec).
const (
	yearLimit, monthLimit, dayLimit, hourLimit, minuteLimit = 2200, 13, 32, 24, 60
)

// takeDate reads YEAR-MONTH-DAY or MONTH-DAY.
func (e *Event) takeDate(text string) (found bool, rest string) {
	if parts, rest, ok := take(text, "-", part{0, yearLimit}, part{1, monthLimit}, part{1, dayLimit}); ok {
		e.year, e.month, e.day = parts[0], parts[1], parts[2]
		return true, strings.TrimLeft(rest, " \t")
	}

	if parts, rest, ok := take(text, "-", part{1, monthLimit}, part{1, dayLimit}); ok {
		e.month, e.day = parts[0], parts[1]
		return true, strings.TrimLeft(rest, " \t")
	}

	return false, text
}

// takeTime reads HOUR:MINUTE:SECOND, HOUR:MINUTE, MINUTE, or, where the first number is too large for an hour, MINUTE:SECOND.
func (e *Event) takeTime(text string) (found bool, rest string) {
	var hour, second []span

	rest = text

	if list, after, err := takeList(text, part{0, hourLimit}); err == nil {
		if next, ok := strings.CutPrefix(after, ":"); ok {
			hour, rest = list, next
		}
	}

	minute, rest, err := takeList(rest, part{0, minuteLimit})
	if err != nil {
		return false, text
	}

	second = single(0)

	if next, ok := strings.CutPrefix(rest, ":"); ok {
		if list, after, err := takeList(next, part{0, minuteLimit}); err == nil {
			second, rest = list, after
		}
	}

	e.hour, e.minute, e.second = hour, minute, second

	return true, rest
}

type part struct{ first, limit int }

// take reads lists of values with a separator between them.
func take(text, separator string, parts ...part) (lists [][]span, rest string, ok bool) {
	rest = text

	for i, p := range parts {
		if i > 0 {
			if rest, ok = strings.CutPrefix(rest, separator); !ok {
				return nil, text, false
			}
		}

		list, after, err := takeList(rest, p)
		if err != nil {
			return nil, text, false
		}

		lists, rest = append(lists, list), after
	}

	return lists, rest, true
}

var errNoValue = errors.New("no value")

// takeList reads values with commas between them, or an asterisk.
func takeList(text string, p part) (list []span, rest string, err error) {
	if rest, ok := strings.CutPrefix(text, "*"); ok {
		if steps, ok := strings.CutPrefix(rest, "/"); ok {
			step, after, err := takeNumber(steps, p)
			if err != nil {
				return nil, "", err
			}

			if step > 0 {
				return []span{{Start: p.first, Step: step, Open: true}}, after, nil
			}
		}

		return nil, rest, nil
	}

	for {
		value, after, err := takeSpan(text, p)
		if err != nil && list != nil {
			return list, "," + text, nil // what follows the comma is no value
		}

		if err != nil {
			return nil, "", err
		}

		list = append(list, value)

		next, more := strings.CutPrefix(after, ",")
		if !more {
			return list, after, nil
		}

		text = next
	}
}

// takeSpan reads VALUE, FIRST..LAST, VALUE/STEP or FIRST..LAST/STEP.
func takeSpan(text string, p part) (span, string, error) {
	first, rest, err := takeNumber(text, p)
	if err != nil {
		return span{}, "", err
	}

	value := span{Start: first, End: first}

	if end, isRange := strings.CutPrefix(rest, ".."); isRange {
		if last, after, err := takeNumber(end, p); err == nil {
			if first > last {
				return span{}, "", errNoValue
			}

			value.End, rest = last, after
		}
	}

	steps, repeated := strings.CutPrefix(rest, "/")
	if !repeated {
		return value, rest, nil
	}

	value.Step, rest, err = takeNumber(steps, p)
	value.Open = value.End == value.Start && value.Step > 0

	return value, rest, err
}

func takeNumber(text string, p part) (int, string, error) {
	digits := numberForm.FindString(text)

	n, err := strconv.Atoi(digits)
	if err != nil || n >= p.limit {
		return 0, "", errNoValue
	}

	return n, text[len(digits):], nil
}
