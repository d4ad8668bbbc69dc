package stacks

// ClusterArgs maps an inventory to the arguments of its cluster.
var ClusterArgs = clusterArgs
