// Package nvidia identifies NVIDIA's GPUs by their PCI device IDs, lists the drivers that Talos has as system extensions, and records which driver
// supports which GPU. It is pure.
package nvidia
