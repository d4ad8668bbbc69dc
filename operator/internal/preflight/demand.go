package preflight

import (
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/guestagent"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// This file computes what an inventory needs from Proxmox VE.

// hostNames are the hosts that nodes stand on, in file order, behind the one that has the first template.
func hostNames(inv *inventory.Inventory) []string {
	names := inv.Nodes.Hosts()
	if first := inv.Cluster.Proxmox.Host; !slices.Contains(names, first) {
		names = append([]string{first}, names...)
	}
	return names
}

// need is a path of the access control and what has to be allowed on it.
type need struct {
	path   string
	scopes []role.Scope
	// privileges are asked for although their scope is not.
	privileges []string
	// pool that stands in for the path: a VM that is made in a pool is judged by it.
	pool string
}

// needs are all paths that a run touches. What only some inventories use is asked of those only.
func needs(inv *inventory.Inventory) []need {
	c := inv.Cluster
	var all []need
	if hasStartup(inv) {
		all = append(all, need{path: "/", privileges: []string{"Sys.Modify"}})
	}
	for _, host := range hostNames(inv) {
		all = append(all, need{path: "/nodes/" + host, scopes: []role.Scope{role.Host}})
	}
	for _, name := range storageNames(inv) {
		scope := role.Storage
		if name == c.Proxmox.ISOStorage {
			scope = role.ISOStorage
		}
		all = append(all, need{path: "/storage/" + name, scopes: []role.Scope{scope}})
	}
	for _, vmid := range vmids(inv) {
		all = append(all, need{path: fmt.Sprintf("/vms/%d", vmid), scopes: []role.Scope{role.Machine}, pool: poolPath(c)})
	}
	if guestagent.In(c.Talos.Schematic.Extensions) {
		for _, node := range inv.Nodes {
			all = append(all, need{path: fmt.Sprintf("/vms/%d", node.VMID), scopes: []role.Scope{role.GuestAgent}, pool: poolPath(c)})
		}
	}
	for _, nic := range nics(inv) {
		all = append(all, need{path: nic.path(), scopes: []role.Scope{role.Bridge}})
	}
	if len(inv.Nodes.GPUWorkers()) > 0 {
		all = append(all,
			need{path: "/mapping/pci", scopes: []role.Scope{role.Mapping}},
			need{path: "/", privileges: []string{"Sys.Audit"}})
	}
	if pool := poolPath(c); pool != "" {
		all = append(all, need{path: pool, scopes: []role.Scope{role.Pool}})
	}
	return all
}

// privilegesIn are those that a need consists of in a release.
func (n need) privilegesIn(release role.Release) []string {
	names := slices.Clone(n.privileges)
	for _, scope := range n.scopes {
		names = append(names, role.On(scope, release)...)
	}
	return names
}

func poolPath(c inventory.Cluster) string {
	if c.Proxmox.Pool == "" {
		return ""
	}
	return "/pool/" + c.Proxmox.Pool
}

// paths are those of all needs, each once.
func paths(inv *inventory.Inventory) []string {
	var all []string
	for _, n := range needs(inv) {
		all = append(all, n.path)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func hasStartup(inv *inventory.Inventory) bool {
	return slices.ContainsFunc(inv.Nodes, func(n inventory.Node) bool { return n.Startup != nil })
}

// vmids of the templates and of the nodes.
func vmids(inv *inventory.Inventory) []int {
	var all []int
	for _, host := range inv.TemplateHosts() {
		all = append(all, inv.Cluster.TemplateVMID(host))
	}
	for _, node := range inv.Nodes {
		all = append(all, node.VMID)
	}
	return all
}

// storageNames are all storages, each once.
func storageNames(inv *inventory.Inventory) []string {
	names := []string{inv.Cluster.Proxmox.ISOStorage, inv.Cluster.Proxmox.DiskStorage}
	for _, node := range inv.Nodes {
		for _, disk := range disks(node) {
			names = append(names, disk.storage)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// volume is a disk of a node.
type volume struct {
	// device of the VM: scsi0 and so on.
	device  string
	storage string
	sizeGiB int
}

// disks of a node: the system disk and the data disks behind it, as the components attach them.
func disks(node inventory.Node) []volume {
	volumes := []volume{{hardware.SystemDrive, node.DiskStorage, node.DiskGiB}}
	for i, disk := range node.DataDisks {
		volumes = append(volumes, volume{hardware.SCSIDrive(hardware.DataDisk(i)), disk.Storage, disk.SizeGiB})
	}
	return volumes
}

// nic is a bridge on a host that a network card is attached to, with its VLAN tag and its MTU, 0 for those of the bridge.
type nic struct {
	host, bridge string
	vlan, mtu    int
}

// path of the access control on which SDN.Use is asked for (pve-guest-common, src/PVE/GuestHelpers.pm, check_vnet_access).
func (n nic) path() string {
	path := "/sdn/zones/localnetwork/" + n.bridge
	if n.vlan != 0 {
		path += fmt.Sprintf("/%d", n.vlan)
	}
	return path
}

// nics are those of all nodes and templates, each bridge and tag of a host once, in file order.
func nics(inv *inventory.Inventory) []nic {
	network := inv.Cluster.Network
	var all []nic
	add := func(n nic) {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	for _, host := range inv.TemplateHosts() {
		add(nic{host: host, bridge: network.Bridge}) // the template's
	}
	for _, node := range inv.Nodes {
		add(nic{node.Host, network.Bridge, network.VLAN, network.MTU})
		for _, further := range node.NICs {
			add(nic{node.Host, further.Bridge, further.VLAN, further.MTU})
		}
	}
	return all
}

// extensions of the images of all nodes, each once: those of the inventory, and those of the drivers.
func extensions(inv *inventory.Inventory) []string {
	needed := slices.Clone(inv.Cluster.Talos.Schematic.Extensions)
	for _, worker := range inv.Nodes.GPUWorkers() {
		for _, extension := range worker.Extensions() {
			if !slices.Contains(needed, extension) {
				needed = append(needed, extension)
			}
		}
	}
	return needed
}
