//go:build unix

package process

// ThroughPS returns what ps reports about a process, as on a system without /proc.
func ThroughPS(pid string) ([]Process, error) { return askPS("-p", pid) }
