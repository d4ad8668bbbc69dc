package stacks

// ClusterArgs maps an inventory to the arguments of its cluster.
var ClusterArgs = clusterArgs

// CheckBackend refuses an engine that works on another state than the one that the stack's file names.
var CheckBackend = checkBackend
