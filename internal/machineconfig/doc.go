// Package machineconfig generates Talos machine-config patches from typed documents.
//
// Its functions are pure: the same arguments always give the same text. Talos' own generator merges the patches over the
// defaults of the cluster's contract, so a patch contains only the decisions of the inventory.
package machineconfig
