// Package cause separates the failures of one run: the causes, and the failures that repeat a cause or follow from it.
//
// The engine reports a failure of one resource up to three times, and the failures of all resources in the order of time. This
// package reports each cause once, with its meaning and the number of failures that follow from it.
package cause
