// Package stacks is the program: it reads the inventory that the stack's configuration names, maps it to the typed arguments of
// package components, and exports the stack's outputs.
package stacks
