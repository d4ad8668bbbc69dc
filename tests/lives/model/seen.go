package model

import (
	"maps"
	"slices"

	"github.com/em-infra/em-infra/tests/lives/site"
)

// Seen is what the world shows at one moment.
type Seen struct {
	Host
	// Nodes are those of Kubernetes, by name; Unreachable is why Kubernetes did not answer.
	Nodes       map[string]Node
	Unreachable string
	// Members are the names of etcd's, sorted.
	Members []string
	// Canaries are the objects that the life has left in etcd.
	Canaries []string
	// Guarded is the number of pods that are Ready, of those that a PodDisruptionBudget protects.
	Guarded int
	// Pending are the pending operations of the state.
	Pending []string
	// Running are processes that work for the stack, beside its lab.
	Running []string
	// Settings are what the machine configurations on the nodes' disks say, by VMID.
	Settings map[int]Settings
}

// Node is one of Kubernetes.
type Node struct {
	Ready, Cordoned bool
	Label           string
	// Talos is the release that runs, as in v1.12.4, and Kubelet that of its kubelet.
	Talos, Kubelet string
}

// Settings are the parts of a machine configuration that a life changes.
type Settings struct {
	Sysctls map[string]string
	Udev    []string
}

// Want is what a cluster should be.
type Want struct {
	site.Site
	// Cordons are what must be cordoned. Nothing else is.
	Cordons Cordons
	// Canaries are what must be in etcd.
	Canaries []string
	// Guarded is how many pods that a PodDisruptionBudget protects must be Ready.
	Guarded int
	// Gone is whether the stack must be destroyed.
	Gone bool
}

const gib = 1 << 30

// Whole returns how the world differs from what it should be.
func (w Want) Whole(seen Seen) []Violation {
	b := &broken{invariant: Whole}
	if w.Gone {
		for _, m := range seen.Machines {
			b.say("VM %d (%s) is left on %s", m.VMID, m.Name, m.Host)
		}
	} else {
		w.machines(b, seen)
		w.cluster(b, seen)
	}
	for _, volume := range seen.Unused {
		b.say("volume %s belongs to no machine", volume)
	}
	for _, pending := range seen.Pending {
		b.say("the state says that something is under way: %s", pending)
	}
	for _, program := range seen.Running {
		b.say("a process is left over: %s", program)
	}
	return b.found
}

func (w Want) machines(b *broken, seen Seen) {
	left := map[int]Machine{}
	for _, m := range seen.Machines {
		left[m.VMID] = m
	}
	for _, n := range w.Nodes {
		m, found := left[n.VMID]
		delete(left, n.VMID)
		if !found {
			b.say("%s has no machine", n.Name)
			continue
		}
		for _, difference := range differences(n, m, w.Tags) {
			b.say("%s: %s", n.Name, difference)
		}
		for _, difference := range differentSettings(n, seen.Settings[n.VMID]) {
			b.say("%s: %s", n.Name, difference)
		}
	}
	for host, vmid := range w.Templates() {
		if m, found := left[vmid]; !found || !m.Template || m.Host != host {
			b.say("%s has no template %d", host, vmid)
		}
		delete(left, vmid)
	}
	for _, vmid := range slices.Sorted(maps.Keys(left)) {
		b.say("VM %d (%s) is on %s and in no inventory", vmid, left[vmid].Name, left[vmid].Host)
	}
}
