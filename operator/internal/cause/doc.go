// Package cause separates the failures of one run: the causes, and the failures that repeat a cause or follow from it.
//
// The engine reports a failure of one resource up to three times, and the failures of all resources in the order of time. A person
// is told each cause once, with what it means, and how many others failed because of it.
package cause
