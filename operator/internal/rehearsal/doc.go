// Package rehearsal is the life of a cluster in one go: up, a preview in which nothing changes, one worker more, one worker
// less, gone. It holds what it finds after each step against what must be, and tells every difference.
//
// The life itself knows neither the engine nor the host: a [System] does what it asks for.
package rehearsal
