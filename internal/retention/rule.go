package retention

import "fmt"

// Rule decides which copies stay. A copy stays if one of its parts keeps it.
type Rule struct {
	// Last is the number of newest copies of each kind that stay. Default: [Default].
	Last int
	// Daily is the number of days of which the newest copy stays, regardless of its kind. Days without a copy do not count. Default: 0.
	Daily int
	// Weekly is the number of weeks of which the newest copy stays, as Daily; a week begins on Monday. Default: 0.
	Weekly int
}

// Excess returns the copies to delete, in their order. Days and weeks are those of UTC, as the names are.
func (r Rule) Excess(newestFirst []Name) []Name {
	days, weeks := newPeriods(r.Daily), newPeriods(r.Weekly)
	stays := map[Name]bool{}
	for _, name := range newestFirst {
		year, week := name.Taken.ISOWeek()
		ofDay := days.keep(name.Taken.Format("2006-01-02"))
		ofWeek := weeks.keep(fmt.Sprintf("%d-%02d", year, week))
		stays[name] = ofDay || ofWeek
	}
	var excess []Name
	for _, name := range Excess(newestFirst, func(n Name) string { return n.Kind }, r.Last) {
		if !stays[name] {
			excess = append(excess, name)
		}
	}
	return excess
}

// periods keeps the first copy of each period, up to a number of periods.
type periods struct {
	left int
	seen map[string]bool
}

func newPeriods(number int) *periods { return &periods{left: number, seen: map[string]bool{}} }

func (p *periods) keep(period string) bool {
	if p.seen[period] || p.left == 0 {
		return false
	}
	p.seen[period] = true
	p.left--
	return true
}
