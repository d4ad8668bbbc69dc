// Package hosts reads hosts.yaml, which describes how hosts of Proxmox VE are configured: load, default, validate.
//
// All hosts of one file are nodes of one Proxmox VE, a cluster or a single host. The result of [Load] is complete and valid; its users
// need no defaults and no checks.
package hosts
