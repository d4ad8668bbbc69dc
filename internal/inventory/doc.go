// Package inventory reads the two files that describe a cluster, cluster.yaml and nodes.yaml: load, default, validate.
//
// They are the single source of truth: every name, VMID, address, MAC, host and size comes from them and is known
// before anything is changed. The result of [Load] is complete and valid; its users need no defaults and no checks.
package inventory
