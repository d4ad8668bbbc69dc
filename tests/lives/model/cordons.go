package model

import (
	"maps"
	"slices"
	"strings"
)

// Cordons are the Nodes that a person has cordoned, by name. They stay so as long as the Node exists: a machine that is replaced gets a new
// Node, and one that is made anew because it was deleted by hand finds the old one.
type Cordons map[string]Cordon

// Cordon is what is known about the cordon of a Node.
type Cordon struct {
	// Disk identifies the system disk of the Node's machine; empty if that machine was deleted by hand.
	Disk string
	// Unsure is true if a restore of etcd may have taken the cordon back, or brought it back.
	Unsure bool
}

// Add records that a Node was cordoned.
func (c Cordons) Add(name string, seen Seen) { c[name] = Cordon{Disk: systemDisk(name, seen)} }

// MachineDeleted records that a machine was deleted by hand. Its Node stays.
func (c Cordons) MachineDeleted(name string) {
	if cordon, found := c[name]; found {
		cordon.Disk = ""
		c[name] = cordon
	}
}

// GoBack records that etcd may have gone back to a snapshot, in which other Nodes were cordoned.
func (c Cordons) GoBack(snapshot Cordons) {
	for _, all := range []Cordons{maps.Clone(c), snapshot} {
		for name, cordon := range all {
			_, now := c[name]
			_, then := snapshot[name]
			cordon.Unsure = cordon.Unsure || now != then || c[name].Unsure
			c[name] = cordon
		}
	}
}

// After returns the cordons that are left after a successful up: a machine that was replaced has a new Node, and nothing is unsure any more. The Node
// of the only control plane is in the snapshot that its next machine begins with; the Node of a control plane that has become the only one is not.
func (c Cordons) After(seen Seen) Cordons {
	left := Cordons{}
	for name, cordon := range c {
		disk := systemDisk(name, seen)
		isReplaced := cordon.Disk != "" && cordon.Disk != disk
		if isReplaced && isOnlyControlPlane(name, seen) {
			isReplaced, cordon.Unsure = false, true
		}
		if disk != "" && !isReplaced && (!cordon.Unsure || seen.Nodes[name].Cordoned) {
			left[name] = Cordon{Disk: disk}
		}
	}
	return left
}

func isOnlyControlPlane(name string, seen Seen) bool {
	others := slices.ContainsFunc(seen.Machines, func(m Machine) bool { return m.Name != name && strings.HasPrefix(m.Name, "control-") })
	return strings.HasPrefix(name, "control-") && !others
}

// systemDisk returns what identifies the system disk of a machine; empty if there is no such machine.
func systemDisk(name string, seen Seen) string {
	for _, m := range seen.Machines {
		if m.Name == name && len(m.Disks) > 0 {
			return m.Disks[0].Identity
		}
	}
	return ""
}
