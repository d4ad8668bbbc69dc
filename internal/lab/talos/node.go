package talos

import (
	"net/netip"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
)

// Stage is how far a machine has come since it was switched on.
type Stage string

// Stages of a machine.
const (
	StageOff Stage = "off"
	// StageBooting lasts from power-on to maintenance mode or, on an installed machine, to the secure API. A worker stays in
	// it until a control plane of its cluster signs its certificate.
	StageBooting Stage = "booting"
	// StageUnbootable is a machine with neither an installed disk nor an ISO.
	StageUnbootable  Stage = "unbootable"
	StageMaintenance Stage = "maintenance"
	// StageHalted is a machine that booted the ISO although Talos is installed on one of its disks.
	StageHalted     Stage = "halted"
	StageInstalling Stage = "installing"
	StageRebooting  Stage = "rebooting"
	// StageRunning is a machine whose secure API answers.
	StageRunning Stage = "running"
)

// Node is a machine as the lab's user sees it.
type Node struct {
	VMID  int
	Name  string
	Stage Stage
	// Address of the Talos API, now or later; zero for a machine without one.
	Address netip.Addr
	// Cluster is the cluster's name in the machine's configuration, "" without one.
	Cluster string
	// Type is machine.TypeUnknown without a configuration.
	Type machine.Type
	// Release installed on its disk; zero without one.
	Release Release
	// Bootstrapped reports whether the machine is a member of an etcd cluster.
	Bootstrapped bool
}

// Nodes returns all machines of the fleet, sorted by VMID.
func (f *Fleet) Nodes() []Node {
	machines := f.all()

	nodes := make([]Node, 0, len(machines))
	for _, m := range machines {
		nodes = append(nodes, m.describe())
	}

	return nodes
}

func (m *vm) describe() Node {
	m.mu.Lock()
	hardware, stage := m.hardware, m.stage
	m.mu.Unlock()

	node := Node{VMID: hardware.VMID, Name: hardware.Name, Stage: stage, Type: machine.TypeUnknown}

	if addresses := hardware.addresses(); len(addresses) > 0 {
		node.Address = addresses[0].Addr()
	}

	disk := m.fleet.systemDisk(hardware)
	if disk == nil {
		return node
	}

	contents := disk.read()
	node.Release = contents.Release.clone()
	node.Bootstrapped = !contents.Etcd.Empty()

	if cfg := disk.config(); cfg != nil {
		node.Cluster = cfg.Cluster().Name()
		node.Type = cfg.Machine().Type()
	}

	return node
}
