// Package nvidia identifies NVIDIA's GPUs by their PCI device IDs, lists the drivers that Talos has as system extensions, and
// contains which driver supports which GPU. Pure.
package nvidia
