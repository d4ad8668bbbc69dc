package terminal

import (
	"fmt"
	"io"
	"time"
)

// WriteTimed writes one line of a running operation: the part, padded to a column, what was done, and its duration. Text that
// does not fit continues below on a terminal, and stays in the line elsewhere.
func WriteTimed(out io.Writer, column int, part, what string, took time.Duration) {
	width := Columns - 1 - len(" ") - column - len(" 9999.9 s") - len(" ")
	lines := []string{what}
	if Width(out) > 0 {
		lines = Fold(what, width)
	}
	fmt.Fprintf(out, " %-*s %s %6.1f s\n", column, part, Pad(lines[0], width), took.Seconds())
	for _, rest := range lines[1:] {
		fmt.Fprintf(out, " %-*s %s\n", column, "", rest)
	}
}
