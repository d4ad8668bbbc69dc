package etcdrestore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Seen is what a restore sees of the control planes before it begins.
type Seen struct {
	// ControlPlanes are what they have of etcd.
	ControlPlanes []ControlPlane
	// Power is the status of the VMs that are there, by the names of their nodes.
	Power map[string]string
	// Ordered are those that a run before has ordered to delete their data. Default: none.
	Ordered []string
}

// mayRun reports whether a control plane is silent and its machine runs, although nothing has ordered it to reboot.
func (s Seen) mayRun(node ControlPlane) bool {
	return node.Data == Silent && s.Power[node.Name] == "running" && !slices.Contains(s.Ordered, node.Name)
}

// Rebooting reports whether a control plane has the order to delete its data and to reboot, and its machine runs.
func (s Seen) Rebooting(name string) bool {
	return slices.Contains(s.Ordered, name) && s.Power[name] == "running"
}

// DataOf returns what a control plane has of etcd.
func (s Seen) DataOf(name string) Data {
	for _, node := range s.ControlPlanes {
		if node.Name == name {
			return node.Data
		}
	}
	return Silent
}

// SwitchedOff returns the control planes whose VMs exist and are off. They come back with data from before the restore.
func (s Seen) SwitchedOff() (names []string) {
	for _, node := range s.ControlPlanes {
		if status, isThere := s.Power[node.Name]; isThere && status != "running" && node.Data == Silent {
			names = append(names, node.Name)
		}
	}
	return names
}

// StillRun returns an error for each control plane that is silent and whose machine runs, unless it reboots by order. vmids are the VMIDs by the
// names of the control planes. If these control planes and those that are off are a majority, the machine has to answer or be deleted: if it were
// only stopped, it would stop the restore again.
func (s Seen) StillRun(vmids map[string]int) error {
	var run []error
	away := len(s.offWithData())
	for _, node := range s.ControlPlanes {
		if s.mayRun(node) {
			away++
		}
	}
	for _, node := range s.ControlPlanes {
		if !s.mayRun(node) {
			continue
		}
		vmid := vmids[node.Name]
		way := fmt.Sprintf("stop it with `qm stop %d` on its host", vmid)
		if away > len(s.ControlPlanes)/2 {
			way = fmt.Sprintf("reset it with `qm reset %[1]d` on its host; if it never answers, delete its VM with `qm stop %[1]d && qm destroy %[1]d --purge` on its host", vmid)
		}
		run = append(run, fmt.Errorf("%s does not answer (%w) and its VM %d runs, so its etcd may still work: wait until it answers, or %s, then run `em-infra etcd restore` again",
			node.Name, node.Problem, vmid, way))
	}
	return errors.Join(run...)
}

// offWithData returns the control planes that are off and were not ordered to delete their data, which may be a quorum from before the restore.
func (s Seen) offWithData() []string {
	return slices.DeleteFunc(s.SwitchedOff(), func(name string) bool { return slices.Contains(s.Ordered, name) })
}

// MajorityIsOff returns an error if a majority of the control planes is only switched off. vmids are the VMIDs by the names of the control planes.
// If the run switched them on, they would form an etcd of their own beside the restored one. An up starts them as long as no data was ordered to be
// deleted; after that it goes on with the restore, so the user has to start them.
func (s Seen) MajorityIsOff(vmids map[string]int) error {
	off := s.offWithData()
	if len(off) < len(s.ControlPlanes)/2+1 {
		return nil
	}
	if len(s.Ordered) == 0 {
		return fmt.Errorf("%s of %d control planes are switched off, and may have all data of etcd: run `em-infra up`, which starts them; only if that does not help, delete their VMs, then run `em-infra etcd restore` again",
			strings.Join(off, ", "), len(s.ControlPlanes))
	}
	for i, name := range off {
		off[i] = fmt.Sprintf("%s (VM %d)", name, vmids[name])
	}
	return fmt.Errorf("a restore of etcd was begun, and %s of %d control planes are switched off and have data of the time before: start their VMs in Proxmox VE, or delete them if they do not come up, then run `em-infra etcd restore` again",
		strings.Join(off, ", "), len(s.ControlPlanes))
}

// Target returns the control plane on which etcd starts from the snapshot: the first one with data of etcd, else with an
// empty data directory, else in maintenance mode, else of all.
func (s Seen) Target() string {
	best := s.ControlPlanes[0]
	for _, node := range s.ControlPlanes {
		if node.Data > best.Data {
			best = node
		}
	}
	return best.Name
}
