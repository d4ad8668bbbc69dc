package inventory

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Claims implements [Claimant]: it returns the name of the cluster, and what its machines and its API claim for themselves, in the order of the files.
func (i *Inventory) Claims() []Claim {
	all := []Claim{{
		ID: ClaimID{Kind: claimedCluster, Value: i.Cluster.Name}, Owner: "the name of the cluster", Do: "choose another name", At: key("name"),
	}}
	if vip := i.Cluster.Kubernetes.Endpoint.VIP; vip.IsValid() {
		all = append(all, Claim{
			ID: ClaimID{Kind: ClaimedAddress, Value: vip.String()}, Owner: "the address of the Kubernetes API (its vip)", Do: AnotherAddress,
			At: key("kubernetes", "endpoint", "vip"),
		})
	}
	for at := range all {
		all[at].File, all[at].Source = filepath.Join(i.Dir, ClusterFile), i.clusterSource
	}
	for at, node := range i.Nodes {
		for _, one := range node.claims(nodePath(at)) {
			one.File, one.Source = filepath.Join(i.Dir, NodesFile), i.nodesSource
			all = append(all, one)
		}
	}
	return all
}

// templateClaim returns the VMID of the template in the form of a claim. Stacks may share a template, so its VMID is compared with other stacks'
// machines, but is no claim itself.
func (i *Inventory) templateClaim() Claim {
	return Claim{
		ID: ClaimID{Kind: ClaimedVMID, Value: strconv.Itoa(i.Cluster.Proxmox.Template.VMID)}, Do: AnotherVMID,
		File: filepath.Join(i.Dir, ClusterFile), Source: i.clusterSource, At: key("proxmox", "template", "vmid"),
	}
}

func (n Node) claims(path *strictyaml.Path) []Claim {
	of := func(kind, value string, at *strictyaml.Path, do string) Claim {
		return ClaimOf(n.Name, kind, value, at, do)
	}
	all := []Claim{
		of(ClaimedName, n.Name, path.Key("name"), "choose another name"),
		of(ClaimedVMID, strconv.Itoa(n.VMID), path.Key("vmid"), AnotherVMID),
	}
	for _, one := range []struct {
		key     string
		address netip.Addr
	}{{"address", n.Address}, {"address6", n.Address6}} {
		if one.address.IsValid() {
			all = append(all, of(ClaimedAddress, one.address.String(), path.Key(one.key), AnotherAddress))
		}
	}
	all = append(all, of(ClaimedMAC, n.MAC.String(), path.Key("mac"), AnotherMAC))
	for at, card := range n.NICs {
		all = append(all, of(ClaimedMAC, card.MAC.String(), path.Key("networks").Index(at).Key("mac"), AnotherMAC))
	}
	return append(all, n.claimedGPUs(path.Key("gpus"))...)
}

// claimedGPUs returns the devices of a host, and their IOMMU groups. A mapping may contain several devices, of which Proxmox VE takes a
// free one.
func (n Node) claimedGPUs(path *strictyaml.Path) (all []Claim) {
	for at, gpu := range n.GPUs {
		if gpu.BDF == "" {
			continue
		}
		all = append(all, Claim{
			ID: ClaimID{claimedDevice, n.Host, string(gpu.BDF)}, Owner: "a device of " + n.Name, Do: "give it to one of the two stacks", At: path.Index(at).Key("bdf"),
		}, Claim{
			ID: ClaimID{claimedGroup, n.Host, strconv.Itoa(*gpu.IOMMUGroup)}, Owner: "the IOMMU group of devices of " + n.Name,
			Do: "give all devices of the group to one of the two stacks", At: path.Index(at).Key("iommuGroup"),
		})
	}
	return all
}

// tagged is a VLAN of a bridge.
type tagged struct {
	bridge string
	vlan   int
}

// network returns the tagged VLAN that the nodes are in. It returns false if they are untagged, since an untagged network has no name of its own.
func (i *Inventory) network() (tagged, bool) {
	n := i.Cluster.Network
	return tagged{n.Bridge, n.VLAN}, n.VLAN != 0
}

// claimsNetwork returns a fault, and true, if another stack has a different network in the VLAN of the nodes.
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
