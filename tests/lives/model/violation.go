// Package model defines what must hold of a cluster, no matter what happened to it. It knows the inventory that the life wrote, and what the world
// shows: files of the lab, its logs, Kubernetes' answers, processes. It knows nothing of the code under test.
package model

import "fmt"

// Invariant is one of the things that must hold.
type Invariant int

// The invariants.
const (
	// Whole: host, nodes and Kubernetes match the inventory, a preview is empty, and nothing is left over.
	Whole Invariant = 1 + iota
	// Kept: no machine that ran, no disk, no member and nothing in etcd was lost that no consented plan named.
	Kept
	// OneAtATime: no two control planes were taken down at the same time.
	OneAtATime
	// Disruptions: no pod that a PodDisruptionBudget protects was on a node that was taken down, or was deleted without an eviction.
	Disruptions
	// Refusals: a refused run changed nothing, and the remedy of a failure works.
	Refusals
	// Secrets are nowhere in clear.
	Secrets
	// Bounds: no run goes on for longer than it may.
	Bounds
)

var names = map[Invariant]string{
	Whole: "whole", Kept: "kept", OneAtATime: "one at a time", Disruptions: "disruptions", Refusals: "refusals", Secrets: "secrets",
	Bounds: "bounds",
}

// Violation is an invariant that does not hold.
type Violation struct {
	Invariant Invariant
	What      string
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s", names[v.Invariant], v.What) }

// broken collects violations of one invariant.
type broken struct {
	invariant Invariant
	found     []Violation
}

func (b *broken) say(format string, args ...any) {
	b.found = append(b.found, Violation{b.invariant, fmt.Sprintf(format, args...)})
}
