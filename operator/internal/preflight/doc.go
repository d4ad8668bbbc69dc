// Package preflight checks before a run whether the host can run what an inventory describes. It only reads: what it needs to
// know is gathered from Proxmox VE and the Image Factory at once, and then judged by pure rules.
package preflight
