// Package otherstacks finds the addresses of the systems that the inventory of a cluster names in other stacks of its project. It reads the files of
// these stacks and no state, so the addresses are known before anything is brought up.
package otherstacks
