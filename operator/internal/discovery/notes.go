package discovery

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/nvidia"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// notes returns what a person has to know.
func (c Cluster) notes(cluster clusterFile) []string {
	var notes []string
	if c.Terraform.Contract == "" {
		notes = append(notes, fmt.Sprintf("talos.contract %s is a guess by the defaults that the nodes run with: if you know with which release the cluster was made, write that", cluster.Talos.Contract))
	}
	if len(cluster.Talos.Schematic.Extensions) > 0 {
		notes = append(notes, "talos.schematic has the extensions of "+c.Nodes[0].Name+", taken for those of siderolabs; kernelArgs cannot be read: add them")
	}
	for _, node := range c.Nodes {
		for _, note := range slices.Concat(node.hardwareNotes(), node.networkNotes(cluster, isDualStack(cluster.Kubernetes.PodSubnets)), node.unlikeFirst(c.Nodes[0], cluster)) {
			notes = append(notes, node.Name+": "+note)
		}
	}
	return append(notes, c.terraformNotes()...)
}

// hardwareNotes returns a note for each part of a machine that an inventory cannot describe, or that is missing.
func (n Node) hardwareNotes() []string {
	var notes []string
	for _, unlike := range n.Machine.unlike() {
		notes = append(notes, unlike+", as all machines of em-infra are: replace it by a new node, or leave it with the tool that made it")
	}
	if n.Machine.seed() != "" && n.Machine.Config["citype"] == "" {
		notes = append(notes, fmt.Sprintf("its cloud-init drive names no format, for which the provider would replace the machine: run `qm set %d --citype nocloud` on %s first; that is what it has, and nothing reboots",
			n.Machine.VMID, n.Machine.Node))
	}
	storage, _ := n.Machine.disk(hardware.SystemDisk)
	_, others := n.dataDisks(storage)
	if others = append(others, n.Machine.foreignDisks()...); len(others) > 0 {
		notes = append(notes, fmt.Sprintf("dataDisks cannot describe %s, but only disks from scsi1 on without a gap, each with a ready user volume of Talos: move the data to one, or leave the machine with the tool that made it", strings.Join(others, ", ")))
	}
	return append(notes, n.deviceNotes()...)
}

// networkNotes returns a note for each part of the node's networks that an inventory cannot describe.
func (n Node) networkNotes(cluster clusterFile, isDual bool) []string {
	var notes []string
	if isDual && !n.Address6.IsValid() {
		notes = append(notes, "it has no lasting IPv6 address, and the pods have an IPv6 network: give each node one in the machine configuration first, or write cidr6 and address6 by hand")
	}
	if _, more := n.furtherCards(cluster.Kubernetes.Endpoint.address()); len(more) > 0 {
		notes = append(notes, fmt.Sprintf("networks gives each further card one address, and %s are more: add them as patches of this node", joined(more)))
	}
	return notes
}

func joined(prefixes []netip.Prefix) string {
	var texts []string
	for _, prefix := range prefixes {
		texts = append(texts, prefix.String())
	}
	return strings.Join(texts, ", ")
}

// deviceNotes returns what has to be known about the PCI devices that are passed through.
func (n Node) deviceNotes() []string {
	var notes []string
	devices := n.Machine.gpus()
	if len(devices) > 0 && n.ControlPlane {
		notes = append(notes, "it is a control plane with a PCI device, which an inventory gives to gpu-workers alone: move the device to a worker first")
	}
	if _, whole := nvidia.Installed(n.Extensions); len(devices) > 0 && !n.ControlPlane && !whole {
		notes = append(notes, "its image has no driver of NVIDIA, and that of every gpu-worker has one: an up upgrades it to such an image, with a reboot")
	}
	for _, device := range devices {
		if device.BDF == "" {
			continue
		}
		notes = append(notes, fmt.Sprintf("its PCI device %s has no resource mapping: an up makes one, and reboots the node to use it", device.BDF))
		if device.allFunctions {
			notes = append(notes, fmt.Sprintf("its PCI device %s is passed with all functions of its slot, and nodes.yaml names the first: add an item for each other that the node needs", device.BDF))
		}
		if !device.isWhole() {
			notes = append(notes, fmt.Sprintf("%s does not tell everything about its PCI device %s: give deviceId, subsystemId and iommuGroup in nodes.yaml, as `lspci -Dnnv` prints them", n.Machine.Node, device.BDF))
		}
	}
	return notes
}

// unlikeFirst returns a note for each setting that all nodes of a cluster share, and that differs between this node and the first.
func (n Node) unlikeFirst(first Node, cluster clusterFile) []string {
	var notes []string
	for _, fact := range []struct{ name, has, first string }{
		{"Talos", n.Talos, cluster.Talos.Version},
		{"Kubernetes", n.Kubelet, cluster.Kubernetes.Version},
		{"addressing", n.Machine.addressing(), cluster.Network.Addressing},
		{"the bridge", n.card().bridge, cluster.Network.Bridge},
		{"the VLAN", strconv.Itoa(n.card().vlan), strconv.Itoa(cluster.Network.VLAN)},
		{"the MTU", strconv.Itoa(cmp.Or(n.card().mtu, hardware.MTU)), strconv.Itoa(cmp.Or(cluster.Network.MTU, hardware.MTU))},
		{"the controller of its disks", n.Machine.Config["scsihw"], cluster.Proxmox.SCSIController},
	} {
		if fact.has != fact.first {
			notes = append(notes, fmt.Sprintf("%s is %s, and %s has %s: make them alike first", fact.name, fact.has, first.Name, fact.first))
		}
	}
	if own, others := withoutDriver(n.Extensions), withoutDriver(first.Extensions); !slices.Equal(own, others) {
		notes = append(notes, fmt.Sprintf("its image has the extensions %s, and that of %s %s: an up upgrades it to an image with those of talos.schematic, with a reboot",
			listed(own), first.Name, listed(others)))
	}
	return notes
}

// withoutDriver returns the extensions that every node of a cluster has: a driver is that of its gpu-worker.
func withoutDriver(extensions []string) []string {
	return slices.DeleteFunc(slices.Clone(extensions), nvidia.IsExtension)
}

func listed(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

// terraformNotes returns how Terraform forgets the machines, which it would otherwise change back or destroy.
func (c Cluster) terraformNotes() []string {
	var vmids []int
	for _, node := range c.Nodes {
		vmids = append(vmids, node.Machine.VMID)
	}
	addresses := c.Terraform.Addresses(vmids)
	if len(addresses) == 0 {
		return nil
	}
	return []string{"once the cluster is adopted, Terraform must forget its machines: terraform state rm '" + strings.Join(addresses, "' '") + "'"}
}
