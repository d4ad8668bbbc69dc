// Package machineconfig makes Talos machine-config patches as typed documents.
//
// Its functions are pure: the same arguments always give the same text. What they make is merged by Talos' own
// generator over the defaults of the cluster's contract, so only what the inventory decides stands in a patch.
package machineconfig
