package progress

import "time"

// Wait describes what an operation waits for.
type Wait struct {
	// For describes it, in the words of the component that waits; empty if it is not known.
	For string
	// Command is the command of em-infra that ends the wait, without the tool's name; empty if there is none.
	Command string
}

// Listener receives the messages of a [Reporter].
type Listener interface {
	// Line receives a finished or running step of a part of the run, with its duration so far.
	Line(part, what string, took time.Duration)
	// Failed receives a step that failed.
	Failed(part, what string, took time.Duration)
	// Note receives a message of the engine or a provider.
	Note(text string)
	// Waits receives what the operation of the previous line waits for.
	Waits(wait Wait)
}
