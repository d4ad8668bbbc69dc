// Package inventory reads the two files that describe a cluster, cluster.yaml and nodes.yaml: load, default, validate.
//
// They are the single source of truth: every name, VMID, address, MAC, host and size comes from them and is known
// before anything is touched. What [Load] returns is complete and sound; nobody after it needs a default or a check.
package inventory
