// Package nvidia knows NVIDIA's GPUs by their PCI device IDs, the drivers that Talos has as system extensions, and which of
// them drive which. It reads nothing and asks nobody.
package nvidia
