// Package preflight checks before a run whether the host can run what an inventory describes. It changes nothing; only the
// check of the bucket with the state stores an object and deletes it. It gathers facts from
// Proxmox VE, the Image Factory and TrueNAS concurrently, and then assesses them with pure rules.
package preflight
