package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/terminal"
)

// labelWidth is the width of the label before each line.
const labelWidth = 14

// WriteText writes an explanation as text.
func (e Explanation) WriteText(out io.Writer) {
	if e.Subject != "" {
		fmt.Fprintf(out, "%s\n", e.Subject)
	}
	fmt.Fprintf(out, "  %-*s %s\n", labelWidth, e.Speaker+":", e.Said)
	fmt.Fprintf(out, "  %-*s %s\n", labelWidth, "meaning", e.Meaning)
	fmt.Fprintf(out, "  %s %s\n", terminal.Paint(out, terminal.Strong, terminal.Pad("do", labelWidth)), e.Do)
	fmt.Fprintf(out, "  %-*s %s\n", labelWidth, "safe", e.Safe)
}

// Guess is a guess about an unknown error.
type Guess struct {
	// Nearest is the nearest known error; nil if none is near.
	Nearest *Nearest
	// Places are the places to look for more.
	Places []Place
}

// GuessAt returns the guess about a text.
func GuessAt(raw string) Guess {
	guess := Guess{Places: Places(raw)}
	if nearest, isNear := FindNearest(raw); isNear {
		guess.Nearest = &nearest
	}
	return guess
}

// At returns the guess with its commands completed for a place.
func (g Guess) At(place remedy.Place) Guess {
	there := Guess{}
	if g.Nearest != nil {
		there.Nearest = &Nearest{Explanation: g.Nearest.At(place), Shared: g.Nearest.Shared, Of: g.Nearest.Of}
	}
	for _, one := range g.Places {
		there.Places = append(there.Places, Place{Where: place.Complete(one.Where), For: one.For})
	}
	return there
}

// WriteText writes the guess as text.
func (g Guess) WriteText(out io.Writer) {
	if nearest := g.Nearest; nearest != nil {
		fmt.Fprintf(out, "not known; a guess, which may be wrong: the nearest error that is known is\n")
		fmt.Fprintf(out, "  %s, of %s: %d of its %d words are in the text\n", nearest.Name, nearest.Speaker, len(nearest.Shared), nearest.Of)
		for _, line := range [][2]string{
			{"text", nearest.Said},
			{"in common", strings.Join(nearest.Shared, ", ")},
			{"it would mean", nearest.Meaning},
			{"then do", nearest.Do},
			{"safe", nearest.Safe},
		} {
			fmt.Fprintf(out, "  %-*s %s\n", labelWidth, line[0], line[1])
		}
	} else {
		fmt.Fprintf(out, "not known, and no error that is known is near\n")
	}
	fmt.Fprintf(out, "\nwhere to look\n")
	for _, place := range g.Places {
		fmt.Fprintf(out, "  %s: %s\n", place.Where, place.For)
	}
}
