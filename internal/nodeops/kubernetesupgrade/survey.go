package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/nodeops/kubernetesclient"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
	"github.com/em-infra/em-infra/internal/versions"
)

// survey is what runs before an upgrade.
type survey struct {
	// members are the nodes of the inventory that are in the cluster, in the order of the inventory.
	members []member
	// joining are the nodes of the inventory that are not in the cluster yet. They start with the new version.
	joining []rolling.Node
	// former are the nodes of joining whose former machines have left something in the cluster: a Node and, of a control plane, its member of etcd.
	former []rolling.Node
	// nodeless are the nodes of the inventory that run another version and have no Node.
	nodeless []rolling.Node
	// foreign are the Nodes that are not in the inventory.
	foreign []foreignNode
	// networked reports whether any Node is Ready: without a network plugin none ever is.
	networked bool
}

// member is a node of the inventory that is in the cluster.
type member struct {
	rolling.Node
	kubelet versions.Version
	ready   bool
	// images are the configured images of the kubelet and of a control plane's static pods, by their names; running are the versions of the static
	// pods. Both are empty for a node that does not answer.
	images  map[string]string
	running map[string]versions.Version
	// talos is the release of Talos that runs; zero for a node that does not answer.
	talos versions.Version
	// problem is why the node cannot be upgraded; nil if it answers.
	problem error
}

// foreignNode is a Node that is not in the inventory.
type foreignNode struct {
	name         string
	kubelet      versions.Version
	controlPlane bool
	ready        bool
}

// survey asks the cluster what runs.
func (u Upgrade) survey(ctx context.Context) (*survey, error) {
	nodes, err := u.nodes(ctx)
	if err != nil {
		return nil, err
	}
	seen := &survey{}
	seen.joining, seen.nodeless = u.sortAbsent(ctx, nodes)
	for _, node := range u.Nodes {
		i := slices.IndexFunc(nodes, func(n corev1.Node) bool { return n.Name == node.Name })
		if i < 0 {
			continue
		}
		m := member{Node: node, ready: kubernetesclient.IsReady(&nodes[i])}
		if m.kubelet, err = kubeletOf(nodes[i]); err != nil {
			return nil, err
		}
		seen.members = append(seen.members, m)
	}
	for _, node := range nodes {
		seen.networked = seen.networked || kubernetesclient.IsReady(&node)
		if slices.ContainsFunc(u.Nodes, func(n rolling.Node) bool { return n.Name == node.Name }) {
			continue
		}
		kubelet, err := kubeletOf(node)
		if err != nil {
			return nil, err
		}
		_, controlPlane := node.Labels["node-role.kubernetes.io/control-plane"]
		seen.foreign = append(seen.foreign, foreignNode{node.Name, kubelet, controlPlane, kubernetesclient.IsReady(&node)})
	}
	u.askMembers(ctx, seen)
	return seen, nil
}

// askMembers asks the members themselves. A node that is silent is asked for a while, since it may be starting, unless nothing
// has to be known about it.
func (u Upgrade) askMembers(ctx context.Context, seen *survey) {
	limited, cancel := context.WithTimeout(ctx, u.Limits.Nodes)
	defer cancel()
	// The only error is the timeout; the members contain what is missing.
	_ = poll.Until(limited, u.Limits.Interval, func(ctx context.Context) (bool, error) {
		for i := range seen.members {
			m := &seen.members[i]
			if m.images != nil {
				continue
			}
			// A timeout says less than the answer before it.
			if problem := u.ask(ctx, m); problem == nil || ctx.Err() == nil || m.problem == nil {
				m.problem = problem
			}
		}
		u.takeOutRemoved(ctx, seen)
		u.takeOutUnconfigured(ctx, seen)
		return seen.runs(u.To) || !slices.ContainsFunc(seen.members, func(m member) bool { return m.problem != nil }), nil
	})
}

// nodes returns the Nodes of the cluster by their names.
func (u Upgrade) nodes(ctx context.Context) ([]corev1.Node, error) {
	var list *corev1.NodeList
	err := u.atSomeControlPlane(ctx, func(ctx context.Context, api clients) (err error) {
		list, err = api.kubernetes.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the Nodes of the cluster cannot be listed (%w): run up again", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

func kubeletOf(node corev1.Node) (versions.Version, error) {
	version, err := versions.Parse(node.Status.NodeInfo.KubeletVersion)
	if err != nil {
		return version, fmt.Errorf("Node %s reports the kubelet version %q, which cannot be read: look at it with `kubectl get nodes`", node.Name, node.Status.NodeInfo.KubeletVersion) //nolint:staticcheck // a kind
	}
	return version, nil
}

// runs reports whether nothing is left to be done. For a node that does not answer, only the version of its kubelet is known, which is upgraded last.
func (s *survey) runs(to versions.Version) bool {
	for _, m := range s.members {
		if m.kubelet.Compare(to) != 0 {
			return false
		}
		for _, c := range components {
			if version, known := m.running[c.id]; known && version.Compare(to) != 0 {
				return false
			}
		}
	}
	return len(s.members) > 0 && len(s.nodeless) == 0
}

// takeReadiness updates which Nodes are Ready, and removes the foreign ones that are gone.
func (s *survey) takeReadiness(nodes []corev1.Node) {
	s.foreign = slices.DeleteFunc(s.foreign, func(f foreignNode) bool {
		return !slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == f.name })
	})
	for i := range s.foreign {
		f := &s.foreign[i]
		f.ready = slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == f.name && kubernetesclient.IsReady(&n) })
	}
	for i := range s.members {
		m := &s.members[i]
		m.ready = slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == m.Name && kubernetesclient.IsReady(&n) })
	}
}

// unready returns the members whose Nodes are not Ready, where there is a network.
func (s *survey) unready() []string {
	var names []string
	for _, m := range s.members {
		if s.networked && !m.ready {
			names = append(names, m.Name)
		}
	}
	return names
}

// deadForeign returns the foreign Nodes that are not Ready, where there is a network.
func (s *survey) deadForeign() []string {
	var names []string
	for _, f := range s.foreign {
		if s.networked && !f.ready {
			names = append(names, f.name)
		}
	}
	return names
}

// controlPlanes returns the members that are control planes.
func (s *survey) controlPlanes() []member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m member) bool { return !m.ControlPlane })
}

// lowest returns the lowest version that runs on a member.
func (s *survey) lowest() versions.Version {
	lowest := s.members[0].kubelet
	for _, running := range s.versions() {
		if running.version.Compare(lowest) < 0 {
			lowest = running.version
		}
	}
	return lowest
}

// oldestTalos returns the lowest release of Talos that runs.
func (s *survey) oldestTalos() versions.Version {
	oldest := s.members[0].talos
	for _, m := range s.members {
		if oldest.IsZero() || !m.talos.IsZero() && m.talos.Compare(oldest) < 0 {
			oldest = m.talos
		}
	}
	return oldest
}

// runningVersion is one component of one node.
type runningVersion struct {
	what    string
	version versions.Version
	talos   versions.Version // of Talos on that node
}

// versions returns what runs on the members, component by component.
func (s *survey) versions() []runningVersion {
	var all []runningVersion
	for _, c := range components {
		for _, m := range s.members {
			if version, known := m.running[c.id]; known {
				all = append(all, runningVersion{c.id + " on " + m.Name, version, m.talos})
			}
		}
	}
	for _, m := range s.members {
		all = append(all, runningVersion{"the kubelet of " + m.Name, m.kubelet, m.talos})
	}
	return all
}

// errNoMembers means that no node of the inventory is in the cluster.
var errNoMembers = errors.New("no node of the inventory is a Node of this cluster: see with `kubectl get nodes` whose cluster answers at these addresses")
