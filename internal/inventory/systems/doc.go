// Package systems reads systems.yaml, which describes virtual machines and containers that are no nodes of a cluster: load, default, validate.
//
// All systems of one file are in one Proxmox VE, a cluster or a single host. The result of [Load] is complete and valid; its users need no
// defaults and no checks.
package systems
