package risk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/versions"
)

// Finding is the planned change of one subject: a node, or another part of the cluster.
type Finding struct {
	// Kind is the weight of the change and the first word of the text.
	Kind Kind `json:"kind"`
	// Subject is the name of the node or part.
	Subject string `json:"subject"`
	// What are the changes, in words.
	What []string `json:"what"`
	// Means are the consequences for the cluster and its data.
	Means []string `json:"means,omitempty"`
	// Needs are the permissions without which the run stops.
	Needs []Permission `json:"needs,omitempty"`
	// Undo are the edits of the inventory that revert the change.
	Undo []string `json:"undo,omitempty"`

	upgrade    *upgrade         // of a node's Talos; nil for none
	kubernetes versions.Version // from which the cluster is upgraded; zero for none
	rank       int              // the cluster, control planes, workers, the rest
}

// Assessment describes a preview in words.
type Assessment struct {
	// Findings are the changes, control planes first.
	Findings []Finding `json:"findings"`
	// Lost are the control planes that are created again in a cluster whose etcd data is lost.
	Lost []string `json:"lost,omitempty"`
	// Recovers is the only control plane, if its machine is replaced: etcd is restored on the new one from a snapshot. Empty for none.
	Recovers string `json:"recovers,omitempty"`
	// Alone are control planes whose machines are replaced, and those that are made beside them, if there is more to do on control
	// planes: each in a run of the engine of its own, before everything else.
	Alone []string `json:"alone,omitempty"`
	// Notes concern the whole run.
	Notes []string `json:"notes,omitempty"`
	// Unasked is what could not be checked, and so may differ, too.
	Unasked []string `json:"unasked,omitempty"`
}

// Seen is what the nodes themselves report, by their names.
type Seen struct {
	// Unconfigured are nodes for which the state contains a configuration, but whose machines are in maintenance mode.
	Unconfigured []string
	// Unread are nodes whose machine configuration changes only in what they do not read while they run, such as the image of the
	// installer.
	Unread []string
	// Images are what the nodes run; a node that did not answer has none.
	Images map[string]Image
	// Renamed are volumes on the nodes' disks that are to have other names.
	Renamed []RenamedVolume
	// Restore is the restore of etcd in the same run; nil for none.
	Restore *Restore
}

// Assess judges the steps of a preview.
func Assess(steps []plan.Step, seen Seen) Assessment {
	cluster := topologyOf(steps, seen)
	bySubject := make(map[string]*Finding)
	var subjects []string
	unsaid := 0
	add := func(found *Finding) {
		if bySubject[found.Subject] == nil {
			bySubject[found.Subject] = &Finding{Subject: found.Subject, rank: found.rank}
			subjects = append(subjects, found.Subject)
		}
		bySubject[found.Subject].merge(*found)
	}
	for _, s := range steps {
		if s.Op == apitype.OpSame && len(s.ByHand) == 0 {
			continue
		}
		if found := judge(s, cluster); found != nil {
			add(found)
		} else {
			unsaid++
		}
	}
	var a Assessment
	for _, urn := range cluster.order {
		n := cluster.nodes[urn]
		if n.rejoins() && !n.isDeleted() {
			add(nodeWasReset(n, cluster))
		}
		if n.controlPlane && n.rejoins() && cluster.isLost() && cluster.restore == nil {
			a.Lost = append(a.Lost, n.name)
		}
		if cluster.recovers(n) {
			a.Recovers = n.name
		}
	}
	for _, subject := range subjects {
		a.Findings = append(a.Findings, *bySubject[subject])
	}
	a.addRestore(seen.Restore)
	a.addRenamed(seen.Renamed, cluster)
	slices.SortStableFunc(a.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.Subject, b.Subject))
	})
	a.judgeKubernetes()
	a.judgeTurns()
	a.noteReboots()
	if len(a.Findings) == 0 && unsaid > 0 {
		a.Notes = append(a.Notes, "only what the engine notes for itself would change: components, providers, checks")
	}
	return a
}

// judge returns the finding of the first rule that matches; nil if there is none.
func judge(s plan.Step, cluster topology) *Finding {
	for _, r := range rules {
		if r.fits(s, cluster) {
			return r.finding(s, cluster)
		}
	}
	return nil
}

// merge adds another change of the subject. The heavier kind wins; a machine that is created, replaced or deleted includes its
// configuration.
func (f *Finding) merge(other Finding) {
	whole := func(k Kind) bool { return k == Create || k == Delete || k == Replace }
	switch {
	case f.Kind == 0 || whole(other.Kind) && !whole(f.Kind):
		f.What = other.What
	case other.Kind == Upgrade && !whole(f.Kind):
		f.What = slices.Concat(other.What, f.What)
	case !whole(f.Kind):
		f.What = append(f.What, other.What...)
	}
	f.Kind, f.upgrade = max(f.Kind, other.Kind), cmp.Or(f.upgrade, other.upgrade)
	if f.kubernetes.IsZero() {
		f.kubernetes = other.kubernetes
	}
	f.Means = append(f.Means, other.Means...)
	f.Needs = append(f.Needs, other.Needs...)
	f.Undo = append(f.Undo, other.Undo...)
}

// judgeKubernetes refuses to upgrade Kubernetes in the run that removes a control plane: that one is removed last, and would keep the former
// version until then. If no control plane stays, there is none to upgrade.
func (a *Assessment) judgeKubernetes() {
	var leave []string
	for _, f := range a.Findings {
		if f.rank == rankControlPlane && f.Kind == Delete {
			leave = append(leave, f.Subject)
		}
	}
	at := slices.IndexFunc(a.Findings, func(f Finding) bool { return !f.kubernetes.IsZero() })
	if at < 0 || len(leave) == 0 {
		return
	}
	f := &a.Findings[at]
	f.Kind, f.Means = Impossible, []string{"not in the run that removes a control plane (" + strings.Join(leave, ", ") + "), which would keep " + f.kubernetes.String()}
	f.Undo = []string{"set kubernetes.version back to " + f.kubernetes.String() + ", run up, and then upgrade Kubernetes"}
}

// judgeTurns separates the control planes that are replaced from each other and from those that are made or reboot: the lane knows the
// changes of nodes, but not what the engine deletes and creates, and one that is replaced waits for those that are made. What is removed
// for good goes last, after all changes.
func (a *Assessment) judgeTurns() {
	var alone []*Finding
	replaced, down := 0, 0
	for i := range a.Findings {
		f := &a.Findings[i]
		switch {
		case f.rank != rankControlPlane:
			continue
		case f.Kind == Replace:
			replaced++
			alone = append(alone, f)
		case f.Kind == Create:
			alone = append(alone, f)
		case f.Kind == Reboot, f.Kind == Upgrade:
			down++
		}
	}
	if replaced == 0 || len(alone)+down == 1 {
		return
	}
	for _, f := range alone {
		a.Alone = append(a.Alone, f.Subject)
		means := "it is replaced alone, before the rest of this run"
		if f.Kind == Create {
			means = "it is made before another control plane is replaced"
		}
		f.Means = append(f.Means, means)
	}
}

// rebootMinutes is how long a reboot of a node takes on a small server, including the wait until it is healthy.
const rebootMinutes = 1

// noteReboots adds a note on the order and duration of reboots.
func (a *Assessment) noteReboots() {
	var names []string
	for _, f := range a.Findings {
		if f.Kind == Reboot && f.rank != rankRest { // a system has no lane
			names = append(names, f.Subject)
		}
	}
	if len(names) > 1 {
		a.Notes = append(a.Notes, fmt.Sprintf("%d nodes reboot, a few at a time and control planes one by one, each when the one before is healthy: up to %d min, and as long as the drains take", len(names), len(names)*rebootMinutes))
	}
}
