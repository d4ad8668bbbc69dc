// Package versions knows the releases of Talos and Kubernetes: which go together, which step from what runs is allowed, the way
// from one to another, and what changes at each minor release. It is pure.
//
// What the machinery in go.mod knows is asked of it (package compatibility); its release is older than the newest Talos, so lines
// of this package's own stand beside it, each with its source.
package versions
