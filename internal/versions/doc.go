// Package versions knows the releases of Talos and Kubernetes: which go together, which step from what runs is allowed, the way
// from one to another, and what changes at each minor release. It is pure.
//
// The package asks the machinery in go.mod for what that knows (package compatibility). The machinery's release is older than the newest Talos, so
// this package has lines of its own beside it, each with its source.
package versions
