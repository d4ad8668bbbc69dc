package model

import (
	"slices"
	"strings"
	"time"
)

// Pod is a pod that a PodDisruptionBudget protects.
type Pod struct {
	Name, Node string
	// Since is when it was seen first.
	Since time.Time
	// Leaves is when its deletion was requested, and Disrupted is true if Kubernetes has a reason for that: an eviction, or the loss
	// of its node. A pod that stays has no Leaves.
	Leaves    time.Time
	Disrupted bool
}

// Budget returns what broke the PodDisruptionBudget of pods: a node was taken down while one of them was on it, or one was deleted without
// an eviction, which is what Kubernetes' API checks the budget for. The names of the nodes are those of their VMIDs.
func Budget(nodes map[int]string, pods []Pod, outages []Outage) []Violation {
	b := &broken{invariant: Disruptions}
	for _, o := range outages {
		for _, pod := range pods {
			stays := pod.Leaves.IsZero() || pod.Leaves.After(o.From)
			if pod.Node == nodes[o.VMID] && pod.Since.Before(o.From) && stays {
				b.say("%s (VM %d) was taken down at %s while the pod %s was on it", pod.Node, o.VMID, o.From.Format(time.StampMilli), pod.Name)
			}
		}
	}
	for _, pod := range pods {
		if !pod.Leaves.IsZero() && !pod.Disrupted {
			b.say("the pod %s on %s was deleted at %s without an eviction", pod.Name, pod.Node, pod.Leaves.Format(time.StampMilli))
		}
	}
	slices.SortFunc(b.found, func(one, other Violation) int { return strings.Compare(one.What, other.What) })
	return b.found
}
