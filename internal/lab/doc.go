// Package lab emulates, in one process, the Proxmox VE host that an inventory describes, the Talos machines on it, and the
// Image Factory.
//
// A lab belongs to one stack's rehearsal and keeps its state in a folder of it. After a restart the lab is the same host. It
// listens on loopback addresses only.
package lab
