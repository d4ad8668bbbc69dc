package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/terminal"
)

// lineWidth is how wide a line of a run is that fits.
const lineWidth = terminal.Columns - 1

// Wait is what an operation waits for.
type Wait struct {
	// For says it in the words of whoever waits; empty while that is not known.
	For string
	// Command of em-infra ends the wait, without the tool's name; empty where there is none.
	Command string
}

// Listener is given what a [Reporter] finds worth a line.
type Listener interface {
	// Line is what was done in a part of the run, or goes on, and how long it has taken.
	Line(part, what string, took time.Duration)
	// Failed is something that could not be done.
	Failed(part, what string, took time.Duration)
	// Note is what the engine or a provider says besides.
	Note(text string)
	// Waits is what the operation of the line before waits for.
	Waits(wait Wait)
}

// Text writes for a person what a [Reporter] finds.
type Text struct {
	out   io.Writer
	typed func(command string) string
}

// NewText writes to out. typed makes of a command of em-infra what a person types.
func NewText(out io.Writer, typed func(command string) string) Text {
	return Text{out: out, typed: typed}
}

// Line implements [Listener].
func (t Text) Line(part, what string, took time.Duration) { Line(t.out, part, what, took) }

// Failed implements [Listener].
func (t Text) Failed(part, what string, took time.Duration) {
	Line(t.out, part, what+" "+terminal.Paint(t.out, terminal.Bad, "FAILED"), took)
}

// Note implements [Listener].
func (t Text) Note(text string) { fmt.Fprintf(t.out, " %-10s %s\n", "note", text) }

// Waits implements [Listener].
func (t Text) Waits(wait Wait) {
	for line := range strings.Lines(wait.For) {
		fmt.Fprintf(t.out, " %-10s   %s\n", "", strings.TrimRight(line, "\n"))
	}
	if wait.Command != "" {
		fmt.Fprintf(t.out, " %-10s   %s\n", "", t.typed(wait.Command))
	}
}

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
