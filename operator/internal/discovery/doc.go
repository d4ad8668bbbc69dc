// Package discovery describes a cluster of Talos machines that another tool or somebody by hand has made: it finds which machine of
// Proxmox VE is which node, and writes the two files of an inventory. It asks nobody and changes nothing; it is pure.
package discovery
