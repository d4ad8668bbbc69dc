package status

import (
	"fmt"
	"slices"
	"strings"
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
	var versions []string
	nodes := map[string][]string{}
	for _, machine := range r.Machines {
		version := of(machine)
		if version == "" {
			continue
		}
		if !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
		nodes[version] = append(nodes[version], machine.Name)
	}
	if len(versions) < 2 {
		return strings.Join(versions, "")
	}
	texts := make([]string, len(versions))
	for i, version := range versions {
		texts[i] = fmt.Sprintf("%s on %s", version, strings.Join(nodes[version], ", "))
	}
	return strings.Join(texts, " and ")
}
