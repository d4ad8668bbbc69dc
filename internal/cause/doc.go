// Package cause tells the failures of one run apart: what went wrong by itself, and what only says so again or follows from it.
//
// The engine reports a failure of one resource up to three times, and the failures of all resources in the order of time. A person
// is told each cause once, with what it means, and how many others failed because of it.
package cause
