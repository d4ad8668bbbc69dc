package machineupdate

// Effect is what the change of a property does to a machine.
type Effect int

// Effects of changes.
const (
	// InPlace changes a machine that runs.
	InPlace Effect = iota
	// Reboot reboots the machine, or stops and starts it.
	Reboot
	// Replace deletes the machine and creates another.
	Replace
)
