// Package workspace finds the folders in which the engine works for a stack: the checkout for the real one, a separate folder
// for a rehearsal, so that they cannot be confused.
package workspace
