package operator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/versions"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

// running is what the nodes run, as far as they answered.
type running struct {
	Nodes    []versions.Node
	Images   map[string]risk.Image       // by the name of the node
	Volumes  map[string][]nodeops.Volume // likewise
	reported []NodeVersions
}

// renamed returns the volumes on data disks that the inventory gives another name: it does not have their present names any more, and the node does
// not have the new ones yet. A node that did not answer has none.
func (r running) renamed(nodes inventory.Nodes) (renamed []risk.RenamedVolume) {
	for _, node := range nodes {
		has := map[string]string{}
		for _, volume := range r.Volumes[node.Name] {
			has[volume.Drive] = volume.Name
		}
		held := slices.Collect(maps.Values(has))
		for i, disk := range node.DataDisks {
			former := has[hardware.SCSIDrive(hardware.DataDisk(i))]
			isWanted := slices.ContainsFunc(node.DataDisks, func(d inventory.DataDisk) bool { return d.Mount == former })
			if former == "" || isWanted || slices.Contains(held, disk.Mount) {
				continue
			}
			renamed = append(renamed, risk.RenamedVolume{Node: node.Name, Key: fmt.Sprintf("dataDisks[%d].mount", i), Has: former, Wanted: disk.Mount})
		}
	}
	return renamed
}

// Add adds the answer of a node; the zero answer is none. An API server of another version than the kubelet, as an upgrade of Kubernetes
// that stopped halfway leaves it, is judged like a node of its own.
func (r *running) Add(name string, seen nodeops.Observation) {
	talos, kubelet := parsed(seen.Talos), parsed(seen.Kubelet)
	if talos.IsZero() {
		return
	}
	r.Nodes = append(r.Nodes, versions.Node{Name: name, State: versions.State{Talos: talos, Kubernetes: kubelet}})
	reported := NodeVersions{Node: name, Talos: seen.Talos, Kubelet: seen.Kubelet}
	if server := parsed(seen.APIServer); !server.IsZero() && server.Compare(kubelet) != 0 {
		r.Nodes = append(r.Nodes, versions.Node{Name: "the API server of " + name, State: versions.State{Kubernetes: server}})
		reported.APIServer = seen.APIServer
	}
	r.reported = append(r.reported, reported)
	if r.Images == nil {
		r.Images = map[string]risk.Image{}
	}
	r.Images[name] = risk.Image{Talos: talos, Schematic: seen.Schematic}
	if r.Volumes == nil {
		r.Volumes = map[string][]nodeops.Volume{}
	}
	r.Volumes[name] = seen.Volumes
}

// parsed returns a version that a node reports; zero if the text is no version, as a custom build may report.
func parsed(text string) versions.Version {
	version, err := versions.Parse(text)
	if err != nil {
		return versions.Version{}
	}
	return version
}

// judgeVersions adds to an assessment what the inventory's versions mean for nodes that run others.
func judgeVersions(assessment *risk.Assessment, inv *inventory.Inventory, nodes []versions.Node) {
	upgrade := inv.Cluster.Upgrade
	assessment.JudgeVersions(nodes, inv.Versions(), inv.Traits())
	assessment.NoteUpgrades(risk.Rollout{
		Canary: upgrade.Canary, Pause: time.Duration(upgrade.PauseSeconds) * time.Second, MaxUnavailable: upgrade.MaxUnavailable.Of(len(inv.Nodes.Workers())),
	})
}
