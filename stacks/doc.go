// Package stacks is the program: it reads the inventory that the stack's configuration names, turns it into the typed
// arguments of package components, and exports the outputs that others rely on.
package stacks
