// Package workspace knows where the engine works for a stack: for the real one in the checkout, for a rehearsal in a
// folder of its own, so that neither can be taken for the other.
package workspace
