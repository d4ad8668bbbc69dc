// Package termquery prevents a process from querying the terminal for its colours while it starts.
//
// Pulumi's SDK imports bubbletea (sdk/v3/go/pulumi → go/common/util/cmdutil → bubbletea), whose init queries the background
// colour (bubbletea v1.3.10, tea_init.go) through lipgloss and termenv. On a terminal that does not answer, such as a serial
// console, expect or a CI job with a pty, every command waits for termenv.OSCTimeout, 5 s, and an escape sequence stays in the
// log. termenv sends no query if the variable CI is set (v0.16.0, termenv.go, isTTY), so CI is set while the packages
// initialise and restored before main begins. No other linked package reads CI while it initialises; TERM=dumb would have the
// same effect, but fatih/color reads that as well.
//
// Why this comes first: of the packages whose imports are initialised, Go initialises the one with the lowest path (The Go
// Programming Language Specification, Program initialization). This package imports only os, which termenv needs too, and its
// path sorts before github.com/muesli/termenv. It must get no other import.
package termquery

import "os"

const variable = "CI"

// Restore restores the original environment of the process. Package main calls it in an init function, which runs after those
// of all packages and before main.
func Restore() error { return restore() }

var restore = withhold()

// withhold sets the variable unless it is set, and returns a function that undoes it.
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
