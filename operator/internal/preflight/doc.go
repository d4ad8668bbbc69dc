// Package preflight checks before a run whether the host can run what an inventory describes. It only reads: it gathers facts from
// Proxmox VE, the Image Factory and TrueNAS concurrently, and then assesses them with pure rules.
package preflight
