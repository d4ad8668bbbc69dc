package page

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/operator/internal/artifacts"
)

// shown returns a time as the page shows it.
func shown(at time.Time) string { return at.UTC().Format("2 Jan 2006 15:04 UTC") }

// spell returns a number of seconds in the units that a person would choose.
func spell(seconds float64) string {
	whole := int(math.Round(seconds))
	switch {
	case seconds < 10:
		return fmt.Sprintf("%.1f s", seconds)
	case whole < 120:
		return fmt.Sprintf("%d s", whole)
	case whole < 7200:
		return fmt.Sprintf("%d min %d s", whole/60, whole%60)
	default:
		return fmt.Sprintf("%d h %d min", whole/3600, whole%3600/60)
	}
}

// took returns how a run ended, in a few words.
func took(run artifacts.Past) string {
	if run.Summary == nil {
		return "no end: it was killed, or still works"
	}
	return string(run.Summary.Outcome) + " after " + spell(run.Summary.Seconds)
}

// verbs are the engine's operations as the page names them, in its order.
var verbs = []struct{ operation, done string }{
	{"create", "created"}, {"update", "changed"}, {"replace", "replaced"}, {"delete", "deleted"}, {"read", "read"}, {"import", "imported"}, {"same", "unchanged"},
}

// changes returns the numbers of resources by what was done with them.
func changes(run artifacts.Past) string {
	counts := map[string]int{}
	for operation, count := range run.Summary.Changes {
		counts[string(operation)] = count
	}
	var parts []string
	for _, verb := range verbs {
		if counts[verb.operation] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[verb.operation], verb.done))
		}
		delete(counts, verb.operation)
	}
	for _, other := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[other], other))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// prose returns a sentence with the commands that it has in backquotes.
func prose(sentence string) template.HTML {
	var text strings.Builder
	for i, part := range strings.Split(sentence, "`") {
		if i%2 == 1 {
			part = "<code>" + template.HTMLEscapeString(part) + "</code>"
		} else {
			part = template.HTMLEscapeString(part)
		}
		text.WriteString(part)
	}
	return template.HTML(text.String()) //nolint:gosec // all parts are escaped
}
