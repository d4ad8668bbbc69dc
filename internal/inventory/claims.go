package inventory

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// claim is something that a cluster has to itself on the hosts of a site.
type claim struct {
	// id is equal for two claims of the same thing.
	id claimID
	// owner is what the thing is for its cluster, like "the VMID of cp-1".
	owner string
	// value is the thing in a message, and do what to do if another stack has it.
	value, do string
	// file is where it is in the inventory, and at its place there.
	file string
	at   *strictyaml.Path
}

// claimID tells claims apart. The zero host is for what is unique on all hosts.
type claimID struct{ kind, host, value string }

// Kinds of claims. A template may be shared, so its VMID is compared with those of machines and is no claim itself.
const (
	claimedVMID    = "VMID"
	claimedAddress = "address"
	claimedMAC     = "MAC address"
	claimedName    = "name"
	claimedCluster = "cluster"
	claimedDevice  = "device"
	claimedGroup   = "IOMMU group"
)

// claims returns what the machines and the API of the inventory have to themselves, in the order of the files.
func (i *Inventory) claims() []claim {
	cluster := []claim{{
		id: claimID{kind: claimedCluster, value: i.Cluster.Name}, owner: "the name of the cluster", value: i.Cluster.Name, do: "choose another name",
		file: ClusterFile, at: key("name"),
	}}
	if vip := i.Cluster.Kubernetes.Endpoint.VIP; vip.IsValid() {
		cluster = append(cluster, claim{
			id: claimID{kind: claimedAddress, value: vip.String()}, owner: "the address of the Kubernetes API (its vip)", value: vip.String(), do: otherAddress,
			file: ClusterFile, at: key("kubernetes", "endpoint", "vip"),
		})
	}
	for at, node := range i.Nodes {
		cluster = append(cluster, node.claims(nodePath(at))...)
	}
	return cluster
}

const otherAddress = "choose a free address"

func (n Node) claims(path *strictyaml.Path) []claim {
	of := func(kind, host, value, key, do string) claim {
		return claim{
			id: claimID{kind, host, value}, owner: "the " + kind + " of " + n.Name, value: value, do: do,
			file: NodesFile, at: path.Key(key),
		}
	}
	all := []claim{
		of(claimedName, "", n.Name, "name", "choose another name"),
		of(claimedVMID, "", strconv.Itoa(n.VMID), "vmid", anotherVMID),
	}
	for _, one := range []struct {
		key     string
		address netip.Addr
	}{{"address", n.Address}, {"address6", n.Address6}} {
		if one.address.IsValid() {
			all = append(all, of(claimedAddress, "", one.address.String(), one.key, otherAddress))
		}
	}
	const otherMAC = "choose another, or remove the key to have one derived"
	all = append(all, of(claimedMAC, "", n.MAC.String(), "mac", otherMAC))
	for at, card := range n.NICs {
		one := of(claimedMAC, "", card.MAC.String(), "", otherMAC)
		one.at = path.Key("networks").Index(at).Key("mac")
		all = append(all, one)
	}
	return append(all, n.claimedGPUs(path.Key("gpus"))...)
}

// claimedGPUs returns the devices of a host, and their IOMMU groups. A mapping may contain several devices, of which Proxmox VE takes a
// free one.
func (n Node) claimedGPUs(path *strictyaml.Path) (all []claim) {
	for at, gpu := range n.GPUs {
		if gpu.BDF == "" {
			continue
		}
		all = append(all, claim{
			id: claimID{claimedDevice, n.Host, string(gpu.BDF)}, owner: "a device of " + n.Name, value: string(gpu.BDF), do: "give it to one of the two stacks",
			file: NodesFile, at: path.Index(at).Key("bdf"),
		}, claim{
			id: claimID{claimedGroup, n.Host, strconv.Itoa(*gpu.IOMMUGroup)}, owner: "the IOMMU group of devices of " + n.Name,
			value: strconv.Itoa(*gpu.IOMMUGroup), do: "give all devices of the group to one of the two stacks",
			file: NodesFile, at: path.Index(at).Key("iommuGroup"),
		})
	}
	return all
}

// tagged is a VLAN of a bridge.
type tagged struct {
	bridge string
	vlan   int
}

// network is the network of the nodes in a tagged VLAN; false for an untagged one, which has no name of its own.
func (i *Inventory) network() (tagged, bool) {
	n := i.Cluster.Network
	return tagged{n.Bridge, n.VLAN}, n.VLAN != 0
}

// claimsNetwork returns the fault of an inventory whose nodes are in a VLAN in which another stack has another network.
func (i *Inventory) claimsNetwork(stack string, other *Inventory) (fault, bool) {
	here, isTagged := i.network()
	there, isTaggedToo := other.network()
	network, others := i.Cluster.Network.CIDR.Masked(), other.Cluster.Network.CIDR.Masked()
	if !isTagged || !isTaggedToo || here != there || network == others {
		return fault{}, false
	}
	return fault{
		What: fmt.Sprintf("is the VLAN of stack %s on %s too, whose network there is %s", stack, here.bridge, others), Rule: "a VLAN has one network",
		Got: strconv.Itoa(here.vlan), Do: "choose another vlan, or the same network.cidr",
	}, true
}
