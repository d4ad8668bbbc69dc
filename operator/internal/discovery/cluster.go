package discovery

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/adoption"
)

// Node is a node of the cluster and its machine.
type Node struct {
	nodeops.Profile

	// ControlPlane is whether it runs etcd.
	ControlPlane bool
	// Machine is its machine; nil until [Cluster.Match] has found it.
	Machine *Machine
}

// Cluster is what was found of a cluster.
type Cluster struct {
	// Nodes are the nodes, control planes first.
	Nodes []Node
	// Terraform is what a state of Terraform says; zero without one.
	Terraform Terraform
	// Taken are the VMIDs in use.
	Taken []int
	// Templates are the templates on the host, regardless of their cluster.
	Templates []Machine
}

// Match finds the machine of each node by the UUID of its firmware, which is unique to each machine of Proxmox VE. The error lists the nodes
// without one.
func (c *Cluster) Match(machines []Machine) error {
	var missing []string
	for i := range c.Nodes {
		node := &c.Nodes[i]
		at := slices.IndexFunc(machines, func(m Machine) bool { return adoption.IsSameFirmware(m.Config.Firmware(), node.Firmware) })
		if at < 0 {
			missing = append(missing, fmt.Sprintf("%s (%s, firmware %s)", node.Name, node.Address.Addr(), node.Firmware))
			continue
		}
		node.Machine = &machines[at]
	}
	for _, machine := range machines {
		c.Taken = append(c.Taken, machine.VMID)
		if machine.Template {
			c.Templates = append(c.Templates, machine)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no machine of Proxmox VE is the one of %s: connect to the host that has it, and give the token VM.Audit on all machines", strings.Join(missing, ", "))
	}
	return nil
}

var errNoControlPlane = errors.New("no control plane answers: name a talosconfig that opens one with --talosconfig")

// facts are what the machine configuration of a control plane says about the cluster.
type facts struct {
	running  config.Provider
	contract string
}

func (c Cluster) facts() (facts, error) {
	at := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.ControlPlane })
	if at < 0 {
		return facts{}, errNoControlPlane
	}
	running, err := parse(c.Nodes[at].Configuration)
	if err != nil {
		return facts{}, fmt.Errorf("%s: %w", c.Nodes[at].Name, err)
	}
	found := facts{running: running, contract: c.Terraform.Contract}
	if found.contract == "" {
		found.contract, err = contractOf(running)
	}
	return found, err
}

// roleOf returns the role of a node in an inventory.
func (n Node) roleOf() inventory.Role {
	switch {
	case n.ControlPlane:
		return inventory.RoleControlPlane
	case len(n.Machine.gpus()) > 0:
		return inventory.RoleGPUWorker
	default:
		return inventory.RoleWorker
	}
}

// contains reports whether an address, as a text, is in a network.
func contains(network netip.Prefix, address string) bool {
	parsed, err := netip.ParseAddr(address)
	return err == nil && network.Contains(parsed)
}
