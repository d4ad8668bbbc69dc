package progress

import "time"

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
