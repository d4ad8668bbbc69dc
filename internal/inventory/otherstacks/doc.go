// Package otherstacks finds what the inventory of a cluster names of other stacks of its project: the addresses of systems, from the files of
// their stacks. No state is read, so they are known before anything is brought up.
package otherstacks
