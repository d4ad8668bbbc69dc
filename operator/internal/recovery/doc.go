// Package recovery finishes what a killed run left behind, before the next one begins: a lock whose owner is dead, plugins
// that outlived their engine, operations that were begun and never recorded as done (F35).
//
// It deletes a machine only when nothing can be lost: VMID and name are ours, or there is nothing in it yet, and it was
// never started.
package recovery
