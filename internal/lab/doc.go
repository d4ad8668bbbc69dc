// Package lab is the emulated host: one process that stands in for the Proxmox VE host which an inventory describes, for
// the Talos machines on it and for the Image Factory.
//
// A lab belongs to one stack's rehearsal and keeps its state in a folder of it, so that a lab that is stopped and started
// again is the same host. Everything listens on loopback addresses.
package lab
