// Package rehearsal runs through the whole life of a cluster: up, a preview that must be empty, adding a worker, removing it,
// destroy. After each step it compares what it finds with what is expected, and reports every difference.
//
// The life itself depends on neither the engine nor the host: a [System] does the work.
package rehearsal
