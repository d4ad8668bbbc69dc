// Package backup stores copies of a stack's state, with secrets encrypted as in the state itself, and compares them with the present
// state.
package backup
