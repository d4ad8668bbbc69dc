package machineconfig

import (
	"fmt"
	"net/netip"

	"github.com/siderolabs/talos/pkg/machinery/config"
)

// CNI is the network plugin.
type CNI string

const (
	// CNIFlannel is installed by Talos itself.
	CNIFlannel CNI = "flannel"
	// CNICilium is installed as an addon; Talos installs none.
	CNICilium CNI = "cilium"
	// CNINone installs no network plugin; nodes stay NotReady until one is installed.
	CNINone CNI = "none"
)

// talosName returns the CNI's name in Talos' configuration, which supports only Talos' own.
func (c CNI) talosName() string {
	if c == CNIFlannel {
		return string(CNIFlannel)
	}
	return string(CNINone)
}

// Cluster contains the settings that all nodes of a cluster share.
type Cluster struct {
	// Contract is the version whose format and defaults the cluster was created with, e.g. v1.12.
	Contract string
	// NodeSubnets hold the nodes' addresses, one for each IP family. etcd and kubelet use addresses of these only (F27).
	NodeSubnets []netip.Prefix
	// VIP is the address that the control planes share for the Kubernetes API; the zero value means none.
	VIP netip.Addr
	// PodSubnets are the pods' networks, one for each IP family.
	PodSubnets []netip.Prefix
	// ServiceSubnets are the services' networks, one for each IP family.
	ServiceSubnets []netip.Prefix
	// CNI is the network plugin.
	CNI CNI
	// KubeProxyReplacement is whether the CNI replaces kube-proxy; Talos then installs none.
	KubeProxyReplacement bool
	// KubeletServingCertificates makes the kubelets request their serving certificates from the cluster.
	KubeletServingCertificates bool
	// SnapshotNamespace is the namespace whose pods may take snapshots of etcd by the Talos API; empty for none.
	SnapshotNamespace string
	// AllowSchedulingOnControlPlanes lets ordinary pods run on control planes.
	AllowSchedulingOnControlPlanes bool
	// Nameservers answer the nodes' DNS queries.
	Nameservers []netip.Addr
	// TimeServers are the nodes' NTP servers.
	TimeServers []string
}

func (c Cluster) contract() (*config.VersionContract, error) {
	contract, err := config.ParseContractFromVersion(c.Contract)
	if err != nil {
		return nil, fmt.Errorf("contract %q: %w", c.Contract, err)
	}
	return contract, nil
}

// advertisedSubnets returns the node subnets without the VIP: it moves between control planes, so neither an etcd member nor
// a kubelet may take it for its own address (F27; siderolabs/talos#4318, #7718).
func (c Cluster) advertisedSubnets() []string {
	subnets := prefixStrings(c.NodeSubnets)
	if c.VIP.IsValid() {
		subnets = append(subnets, "!"+netip.PrefixFrom(c.VIP, c.VIP.BitLen()).String())
	}
	return subnets
}

// kubeletArgs returns the arguments of Talos' guide to metrics-server.
func (c Cluster) kubeletArgs() map[string]string {
	if !c.KubeletServingCertificates {
		return nil
	}
	return map[string]string{"rotate-server-certificates": "true"}
}

func prefixStrings(prefixes []netip.Prefix) []string {
	texts := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		texts[i] = prefix.String()
	}
	return texts
}

func addrStrings(addrs []netip.Addr) []string {
	texts := make([]string, len(addrs))
	for i, addr := range addrs {
		texts[i] = addr.String()
	}
	return texts
}
