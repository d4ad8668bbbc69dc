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

// hostNames returns the hosts of the nodes, in file order, and first the host of the first template if it has no node.
func hostNames(inv *inventory.Inventory) []string {
	names := inv.Nodes.Hosts()
	if first := inv.Cluster.Proxmox.Host; !slices.Contains(names, first) {
		names = append([]string{first}, names...)
	}
	return names
}

// need is a path of the access control and the privileges that are needed on it.
type need struct {
	path   string
	scopes []role.Scope
	// privileges are needed in addition to the privileges of the scopes.
	privileges []string
	// pool is the pool in which a VM is created, if any: Proxmox VE then also accepts the privileges on the pool.
	pool string
}

// needs returns all paths that a run uses. Paths that only some inventories use are included only for these.
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

// privilegesIn returns the privileges of a need in a release.
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

// paths returns the paths of all needs without duplicates.
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

// vmids returns the VMIDs of the templates and of the nodes.
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

// storageNames returns all storages without duplicates.
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
	// device is the drive of the VM: scsi0 and so on.
	device  string
	storage string
	sizeGiB int
}

// disks returns the disks of a node: the system disk and then the data disks, on the drives that the components use.
func disks(node inventory.Node) []volume {
	volumes := []volume{{hardware.SystemDrive, node.DiskStorage, node.DiskGiB}}
	for i, disk := range node.DataDisks {
		volumes = append(volumes, volume{hardware.SCSIDrive(hardware.DataDisk(i)), disk.Storage, disk.SizeGiB})
	}
	return volumes
}

// nic is a bridge on a host for a network card, with the card's VLAN tag and MTU; 0 means the bridge's own.
type nic struct {
	host, bridge string
	vlan, mtu    int
}

// path returns the path of the access control that needs SDN.Use (pve-guest-common, src/PVE/GuestHelpers.pm, check_vnet_access).
func (n nic) path() string {
	path := "/sdn/zones/localnetwork/" + n.bridge
	if n.vlan != 0 {
		path += fmt.Sprintf("/%d", n.vlan)
	}
	return path
}

// nics returns the NICs of all nodes and templates without duplicates, in file order.
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

// extensions returns the extensions of the images of all nodes without duplicates: the inventory's and the drivers'.
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
