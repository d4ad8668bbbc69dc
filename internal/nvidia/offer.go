package nvidia

import "github.com/blang/semver/v4"

// ByOperator reports whether NVIDIA's gpu-operator offers the GPUs to pods on a Talos release. It does from v1.13 on, whose container toolkit
// describes the GPUs by CDI. Before, the device plugin alone offers them (siderolabs/docs, v1.12 and v1.13, nvidia-gpu.mdx).
func ByOperator(talos string) bool {
	version, err := semver.ParseTolerant(talos)
	return err == nil && (version.Major > 1 || version.Major == 1 && version.Minor >= 13)
}

// Device is a PCI device that a machine gets; zero for one of a mapping that exists already, whose facts are not known here.
type Device struct {
	// Address is its address on the host, e.g. 0000:01:00.0.
	Address string
	// ID is vendor:device, e.g. 10de:2204.
	ID string
}

// Offered returns how many GPUs the device plugin finds on a machine with these devices, and how many it offers there if it offers each GPU as this
// number of shares; 0 counts as 1. A device that is not known counts as a GPU of NVIDIA's.
func Offered(devices []Device, shares int) (found, offered int) {
	for _, device := range devices {
		if device == (Device{}) || IsGPU(device.Address, device.ID) {
			found++
		}
	}
	return found, found * max(shares, 1)
}
