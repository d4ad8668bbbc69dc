// Package discovery describes a cluster of Talos machines that another tool or a user has made: it finds which machine of Proxmox VE is which node,
// and writes the two files of an inventory. It makes no requests and changes nothing; it is pure.
package discovery
