// Package backup keeps copies of a stack's state, with its secrets encrypted as in the state itself, and describes what putting
// one back would mean.
package backup
