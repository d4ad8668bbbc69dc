package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/tests/lives/site"
)

// differences returns the differences of a machine from its node in the inventory.
func differences(n site.Node, m Machine, tags []string) []string {
	sizes, wanted := []int{}, []int{n.DiskGiB}
	for _, disk := range m.Disks {
		sizes = append(sizes, int(disk.Bytes/gib))
	}
	for _, disk := range n.DataDisks {
		wanted = append(wanted, disk.SizeGiB)
	}
	var found []string
	for _, d := range []struct {
		what       string
		want, have any
	}{
		{"name", n.Name, m.Name},
		{"host", n.Host, m.Host},
		{"runs", true, m.Running},
		{"template", false, m.Template},
		{"lock", "", m.Lock},
		{"memory", n.MemoryMiB, m.MemoryMiB},
		{"cores", n.Cores, m.Cores},
		{"starts with its host", true, m.StartsWithHost},
		{"disks in GiB", fmt.Sprint(wanted), fmt.Sprint(sizes)},
		{"network cards", 1 + len(n.Networks), m.Cards},
		{"devices of the host", len(n.GPUs), m.PassedOn},
		{"tags", sorted(tags), sorted(m.Tags)},
	} {
		if d.want != d.have {
			found = append(found, fmt.Sprintf("%s is %v, not %v", d.what, d.have, d.want))
		}
	}
	return found
}

func sorted(words []string) string { return strings.Join(slices.Sorted(slices.Values(words)), " ") }

// differentSettings returns the settings of a node's machine configuration that differ from its patches.
func differentSettings(n site.Node, have Settings) []string {
	sysctls, udev := n.Settings()
	var found []string
	for _, name := range site.Sysctls {
		if sysctls[name] != have.Sysctls[name] {
			found = append(found, fmt.Sprintf("sysctl %s is %q, not %q", name, have.Sysctls[name], sysctls[name]))
		}
	}
	if sorted(udev) != sorted(have.Udev) {
		found = append(found, fmt.Sprintf("udev has %q, not %q", sorted(have.Udev), sorted(udev)))
	}
	return found
}

// cluster compares Kubernetes and etcd with the inventory.
func (w Want) cluster(b *broken, seen Seen) {
	if seen.Unreachable != "" {
		b.say("Kubernetes does not answer: %s", seen.Unreachable)
		return
	}
	left := maps.Clone(seen.Nodes)
	for _, n := range w.Nodes {
		node, found := left[n.Name]
		_, cordoned := w.Cordons[n.Name]
		delete(left, n.Name)
		switch {
		case !found:
			b.say("%s is no Node", n.Name)
		case !node.Ready:
			b.say("%s is not Ready", n.Name)
		case node.Cordoned != cordoned:
			b.say("%s is cordoned: %v, not %v", n.Name, node.Cordoned, cordoned)
		case node.Label != n.Labels[site.Label]:
			b.say("%s has label %q, not %q", n.Name, node.Label, n.Labels[site.Label])
		case node.Talos != w.TalosVersion():
			b.say("%s runs Talos %s, not %s", n.Name, node.Talos, w.TalosVersion())
		case node.Kubelet != w.KubernetesVersion():
			b.say("%s has the kubelet of Kubernetes %s, not %s", n.Name, node.Kubelet, w.KubernetesVersion())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		b.say("Node %s is in no inventory", name)
	}
	if wanted := sorted(w.Names(site.ControlPlane)); sorted(seen.Members) != wanted {
		b.say("the members of etcd are %s, not %s", sorted(seen.Members), wanted)
	}
	if seen.Guarded < w.Guarded {
		b.say("%d of the %d pods of the guarded Deployment are Ready", seen.Guarded, w.Guarded)
	}
}
