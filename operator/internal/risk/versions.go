package risk

import (
	"fmt"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/versions"
)

// JudgeVersions adds the reasons that forbid the wanted versions where nodes run others, as findings that stop the run, and notes what other minor
// releases do differently. running are the nodes that answered. For Talos, it judges only nodes that the run would upgrade, including those that
// run another release than the state says. Kubernetes is always brought to the wanted version.
func (a *Assessment) JudgeVersions(running []versions.Node, wanted versions.State, traits versions.Traits) {
	upgraded := a.upgraded(running)
	var found []Finding
	for _, refusal := range slices.Concat(versions.JudgeTalos(upgraded, wanted), versions.JudgeKubernetes(a.withKubernetes(running), wanted)) {
		found = append(found, versionRefused(refusal))
	}
	a.Findings = append(found, a.Findings...)
	if len(upgraded) == 0 {
		return
	}
	oldest := slices.MinFunc(upgraded, func(a, b versions.Node) int { return a.Talos.Compare(b.Talos) })
	for _, change := range versions.Changes(oldest.Talos.Minor(), wanted.Talos.Minor(), traits) {
		a.Notes = append(a.Notes, change.Says)
	}
}

// upgraded returns what the nodes run that the run would upgrade. For a node that did not answer, it is what the previous run wanted.
func (a *Assessment) upgraded(running []versions.Node) []versions.Node {
	var nodes []versions.Node
	for _, f := range a.Findings {
		if f.upgrade == nil || !f.upgrade.from.isKnown() {
			continue
		}
		node := versions.Node{Name: f.Subject}
		if at := slices.IndexFunc(running, func(n versions.Node) bool { return n.Name == f.Subject }); at >= 0 {
			node = running[at]
		}
		node.Talos = f.upgrade.from.Talos
		nodes = append(nodes, node)
	}
	return nodes
}

// withKubernetes returns the nodes that answered or, if none did, the Kubernetes that the run before wanted.
func (a *Assessment) withKubernetes(running []versions.Node) []versions.Node {
	if len(running) > 0 {
		return running
	}
	for _, f := range a.Findings {
		if !f.kubernetes.IsZero() {
			return []versions.Node{{Name: "the cluster", State: versions.State{Kubernetes: f.kubernetes}}}
		}
	}
	return nil
}

func versionRefused(refusal versions.Refusal) Finding {
	f := Finding{Kind: Impossible, Subject: refusal.Key, What: []string{refusal.What}, Undo: []string{refusal.Do}, rank: rankCluster}
	if refusal.Skips {
		f.Kind, f.Needs = Upgrade, []Permission{{Flag: FlagVersionSkip}}
		f.Means = []string{"its installer takes that step, but Talos tests upgrades only between adjacent minor releases and over the latest patch release of each"}
	}
	return f
}

// Rollout is the order in which nodes are upgraded.
type Rollout struct {
	// Canary is the node that comes first; empty for none.
	Canary string
	// Pause after the canary.
	Pause time.Duration
	// MaxUnavailable is how many workers are upgraded at a time.
	MaxUnavailable int
}

// NoteUpgrades adds a note on the order and duration of the upgrades of nodes, if there is more than one.
func (a *Assessment) NoteUpgrades(order Rollout) {
	controlPlanes, workers, canaries := 0, 0, 0
	for _, f := range a.Findings {
		switch {
		case f.upgrade == nil:
		case f.Subject == order.Canary:
			canaries++
		case f.rank == rankControlPlane:
			controlPlanes++
		default:
			workers++
		}
	}
	if controlPlanes+workers+canaries < 2 {
		return
	}
	most := max(order.MaxUnavailable, 1)
	turns := canaries + controlPlanes + (workers+most-1)/most
	minutes := turns * upgradeMinutes
	var words string
	if canaries > 0 {
		words = order.Canary + " first, "
		if order.Pause > 0 {
			words += fmt.Sprintf("then a pause of %s, ", order.Pause)
			minutes += int(order.Pause.Minutes())
		}
	}
	a.Notes = append(a.Notes, fmt.Sprintf("%d nodes are upgraded: %scontrol planes one by one, workers %d at a time, each when the one before is healthy: about %d min, and as long as the drains take",
		controlPlanes+workers+canaries, words, most, minutes))
}
