package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/versions"
)

// Versions returns the versions that the nodes report, not the inventory's, as in `Kubernetes v1.35.4 · Talos v1.12.4`. If they
// differ, each version is followed by its nodes. It is empty while no node answers.
func (r Report) Versions() string {
	var parts []string
	for _, part := range []struct {
		product string
		of      func(Machine) string
	}{
		{"Kubernetes", func(m Machine) string {
			if m.Kubernetes == nil {
				return ""
			}
			return m.Kubernetes.Kubelet
		}},
		{"Talos", func(m Machine) string {
			if m.Node == nil {
				return ""
			}
			return m.Node.Talos
		}},
	} {
		if text := r.versionsOf(part.of); text != "" {
			parts = append(parts, part.product+" "+text)
		}
	}
	return strings.Join(parts, " · ")
}

// versionsOf returns one version, or several with the nodes of each, in the order of the inventory.
func (r Report) versionsOf(of func(Machine) string) string {
	var found []string
	nodes := map[string][]string{}
	for _, machine := range r.Machines {
		version := of(machine)
		if version == "" {
			continue
		}
		if !slices.Contains(found, version) {
			found = append(found, version)
		}
		nodes[version] = append(nodes[version], machine.Name)
	}
	if len(found) < 2 {
		return strings.Join(found, "")
	}
	texts := make([]string, len(found))
	for i, version := range found {
		texts[i] = fmt.Sprintf("%s on %s", version, strings.Join(nodes[version], ", "))
	}
	return strings.Join(texts, " and ")
}

// otherKubernetes returns a sentence about a kubelet whose version differs from the inventory's; empty if it does not.
func (m Machine) otherKubernetes() string {
	if m.Kubernetes == nil || m.WantedKubernetes == "" || m.Kubernetes.Kubelet == m.WantedKubernetes {
		return ""
	}
	runs, err := versions.Parse(m.Kubernetes.Kubelet)
	if err != nil {
		return ""
	}
	wanted, err := versions.Parse(m.WantedKubernetes)
	if err != nil {
		return ""
	}
	if runs.Compare(wanted) > 0 {
		return fmt.Sprintf("%s runs %s, the inventory says %s, and Kubernetes never goes back: set kubernetes.version to %s", m.Name, runs, wanted, runs)
	}
	return fmt.Sprintf("%s runs %s, the inventory says %s: `em-infra up` brings it there", m.Name, runs, wanted)
}
