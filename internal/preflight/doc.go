// Package preflight says before a run whether the host can bear what an inventory asks of it. It only reads: what it needs
// to know is gathered from Proxmox VE and the Image Factory at once, and then judged by pure rules.
package preflight
