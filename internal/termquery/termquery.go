// Package termquery keeps a process from asking the terminal for its colours while it starts.
//
// Pulumi's SDK imports bubbletea (sdk/v3/go/pulumi → go/common/util/cmdutil → bubbletea), whose init asks for the
// background colour (bubbletea v1.3.10, tea_init.go) by way of lipgloss and termenv. A terminal that does not answer, such
// as a serial console, expect or a CI job with a pty, costs every command termenv.OSCTimeout, 5 s, and leaves an escape
// sequence in the log. termenv asks nobody where the variable CI is set (v0.16.0, termenv.go, isTTY), so CI is set while
// the packages initialise and put back before main begins. Nothing else that is linked reads CI while it initialises; TERM=dumb
// would have the same effect, but fatih/color reads that as well.
//
// Why this comes first: Go initialises, of the packages whose imports are initialised, the one with the lowest path (The Go
// Programming Language Specification, Program initialization). This package imports os alone, which termenv needs too, and
// its path sorts before github.com/muesli/termenv. It must get no other import.
package termquery

import "os"

const variable = "CI"

// Restore gives the environment back as the process got it. Package main calls it in an init function, which runs after
// those of all packages and before main.
func Restore() error { return restore() }

var restore = withhold()

// withhold sets the variable where it is not set, and returns how that is undone.
func withhold() func() error {
	value, found := os.LookupEnv(variable)
	if value != "" {
		return func() error { return nil }
	}
	if err := os.Setenv(variable, "true"); err != nil {
		return func() error { return err }
	}
	if found {
		return func() error { return os.Setenv(variable, value) }
	}
	return func() error { return os.Unsetenv(variable) }
}
