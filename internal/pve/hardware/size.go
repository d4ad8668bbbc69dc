package hardware

// Size is how much a machine has of what Talos needs.
type Size struct {
	// Cores of all sockets.
	Cores int
	// MemoryMiB is the memory in MiB.
	MemoryMiB int
	// DiskGiB is the size of the system disk in GiB.
	DiskGiB int
}

// LeastSize is what Talos needs at least, by its system requirements (docs.siderolabs.com, getting started).
func LeastSize(controlPlane bool) Size {
	if controlPlane {
		return Size{Cores: 2, MemoryMiB: 2048, DiskGiB: 10}
	}
	return Size{Cores: 1, MemoryMiB: 1024, DiskGiB: 10}
}
