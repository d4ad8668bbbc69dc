package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/em-infra/em-infra/internal/terminal"
)

// lineWidth is how wide a line of a run is that fits.
const lineWidth = terminal.Columns - 1

// Line is one line of a run: in which part, what was done, and how long it took. What does not fit is told below on a terminal,
// and stays in the line elsewhere.
func Line(out io.Writer, part, what string, took time.Duration) {
	timed(out, 10, part, what, took)
}

// Step is a line of a rehearsal, whose parts have longer names.
func Step(out io.Writer, name, what string, took time.Duration) {
	timed(out, 11, name, what, took)
}

func timed(out io.Writer, column int, part, what string, took time.Duration) {
	width := lineWidth - len(" ") - column - len(" 9999.9 s") - len(" ")
	lines := []string{what}
	if terminal.Width(out) > 0 {
		lines = terminal.Fold(what, width)
	}
	fmt.Fprintf(out, " %-*s %s %6.1f s\n", column, part, terminal.Pad(lines[0], width), took.Seconds())
	for _, rest := range lines[1:] {
		fmt.Fprintf(out, " %-*s %s\n", column, "", rest)
	}
}
