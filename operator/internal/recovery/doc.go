// Package recovery cleans up what a killed run has left, before the next run begins: a lock whose owner is dead, plugins that
// outlived their engine, and operations that were begun but never recorded as done (F35).
//
// It deletes a machine only if nothing can be lost: its VMID and name are ours, or it is still empty, and it was never started.
package recovery
