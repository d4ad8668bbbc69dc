// Package span limits a run to a part of what its plan has: to some phases, to one node, to targets.
package span

import (
	"strings"

	"github.com/em-infra/em-infra/internal/phase"
)

// Span is the range of phases of a run, and its nodes.
type Span struct {
	Last phase.Phase
	Only bool   // only the last phase
	Node string // only this node, in all phases; empty for all
	Plan string // the fingerprint of the only plan that is carried out; empty for any
}

// Whole is all phases of all nodes.
func Whole() Span { return Span{Last: phase.Verify} }

// String returns the flag that selects the span; empty for all phases.
func (s Span) String() string {
	switch {
	case s.Node != "":
		return " --only-node " + s.Node
	case s.Only:
		return " --only " + s.Last.String()
	case s.Last != phase.Verify:
		return " --until " + s.Last.String()
	default:
		return ""
	}
}

// Command returns the span's name in the names of artifacts.
func (s Span) Command() string {
	return strings.NewReplacer(" --", "-", " ", "-").Replace("up" + s.String())
}

// Works reports whether the engine has anything to do: the verify phase only reads.
func (s Span) Works() bool { return s.Last != phase.Verify || !s.Only }

// Verifies reports whether the run verifies the cluster at its end.
func (s Span) Verifies() bool { return s.Last == phase.Verify }

// ReachesNAS reports whether what a cluster has on its NAS is part of the span: it is provisioned for all nodes.
func (s Span) ReachesNAS() bool { return s.Node == "" && s.Covers(phase.Provision) }

// Covers reports whether a phase is part of the span. Resources without a phase are part of each span.
func (s Span) Covers(of phase.Phase) bool {
	if s.Only {
		return of == s.Last
	}
	return of <= s.Last
}
