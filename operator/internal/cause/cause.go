package cause

import (
	"slices"

	"github.com/em-infra/em-infra/operator/internal/explain"
	"github.com/em-infra/em-infra/operator/internal/progress"
)

// Cause is a root cause.
type Cause struct {
	// Failure is its first report, unchanged.
	progress.Failure
	// Explanations are what is known about it; nil for an unknown failure.
	Explanations []explain.Explanation
	// Because are the names of the resources that failed because of it.
	Because []string
	// Alike are the names of the resources that failed in the same way, independently.
	Alike []string
}

// Of returns the root causes of failures in a cluster with these nodes, in the order in which they were reported.
func Of(failures []progress.Failure, nodes []Node) []Cause {
	reported := once(failures)
	var causes []Cause
	places := make([]int, len(reported)) // in causes
	for i, failure := range reported {
		if originOf(reported, i, nodes) != i {
			continue
		}
		next := Cause{Failure: failure, Explanations: explain.Text(failure.Text)}
		at := slices.IndexFunc(causes, func(c Cause) bool { return c.same(next) || c.alike(next) })
		switch {
		case at < 0:
			at = len(causes)
			causes = append(causes, next)
		case causes[at].same(next):
			causes[at].Because = append(causes[at].Because, failure.Name)
		default:
			causes[at].Alike = append(causes[at].Alike, failure.Name)
		}
		places[i] = at
	}
	for i, failure := range reported {
		if origin := originOf(reported, i, nodes); origin != i {
			at := places[origin]
			causes[at].Because = append(causes[at].Because, failure.Name)
		}
	}
	return causes
}

// same reports whether two resources failed with the same text or explanation, as with an invalid token.
func (c Cause) same(other Cause) bool {
	if other.Name == "" || c.Name == "" {
		return false
	}
	if len(c.Explanations) == 0 || len(other.Explanations) == 0 {
		return c.Text == other.Text
	}
	return slices.EqualFunc(c.Explanations, other.Explanations, func(a, b explain.Explanation) bool {
		return a.Name == b.Name && a.Said == b.Said
	})
}

// alike reports whether both have the same explanations: the same error, of another machine.
func (c Cause) alike(other Cause) bool {
	return c.Name != "" && other.Name != "" && len(c.Explanations) > 0 &&
		slices.EqualFunc(c.Explanations, other.Explanations, func(a, b explain.Explanation) bool { return a.Name == b.Name })
}

// originOf returns the index of the failure from which another follows, possibly its own. A failure follows from the failure of a
// node that its text names, as in "worker-2 is untouched, because worker-1 did not come back", transitively. If failures name each
// other, the first one that was reported counts.
func originOf(failures []progress.Failure, of int, nodes []Node) int {
	path := []int{of}
	for {
		next := namedBy(failures, path[len(path)-1], nodes)
		if next < 0 {
			return path[len(path)-1]
		}
		if begin := slices.Index(path, next); begin >= 0 {
			return slices.Min(path[begin:])
		}
		path = append(path, next)
	}
}

// namedBy returns the index of the first failure of another node that a failure names; -1 if there is none.
func namedBy(failures []progress.Failure, of int, nodes []Node) int {
	own := nodeOf(failures[of].Name, nodes)
	return slices.IndexFunc(failures, func(other progress.Failure) bool {
		node := nodeOf(other.Name, nodes)
		return node != "" && node != own && names(failures[of].Text, node)
	})
}
