package kubernetes

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// nodeAddresses returns the IPv4 addresses of a node, loopback addresses first.
func nodeAddresses(node talos.KubernetesNode) []netip.Addr {
	var loopback, other []netip.Addr
	for _, prefix := range node.Hardware.CloudInit.Addresses {
		switch address := prefix.Addr(); {
		case address.Is4() && address.IsLoopback():
			loopback = append(loopback, address)
		case address.Is4():
			other = append(other, address)
		}
	}
	return slices.Concat(loopback, other)
}

// kubeletAddresses returns the addresses with which the kubelet registers: the first one in the valid subnets, or the first
// one of all if there are no valid subnets (k8s/nodeip.go takes the first of each family).
func kubeletAddresses(node talos.KubernetesNode) []netip.Addr {
	addresses := nodeAddresses(node)
	if subnets := node.Config.Machine().Kubelet().NodeIP().ValidSubnets(); len(subnets) > 0 {
		addresses = slices.DeleteFunc(addresses, func(address netip.Addr) bool { return !within(address, subnets) })
	}
	return addresses[:min(1, len(addresses))]
}

// within reports whether an address is in one of the subnets. Entries that are no subnet, e.g. exclusions, are ignored.
func within(address netip.Addr, subnets []string) bool {
	return slices.ContainsFunc(subnets, func(text string) bool {
		subnet, err := netip.ParsePrefix(text)
		return err == nil && subnet.Contains(address)
	})
}

// virtualAddresses returns the addresses that the control planes share, from the documents of a machine configuration and
// from its old form.
func virtualAddresses(cfg config.Provider) []netip.Addr {
	var addresses []netip.Addr
	for _, virtual := range cfg.NetworkVirtualIPConfigs() {
		addresses = append(addresses, virtual.VIP())
	}
	for _, device := range cfg.Machine().Network().Devices() {
		if device.VIPConfig() == nil {
			continue
		}
		if address, err := netip.ParseAddr(device.VIPConfig().IP()); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// authorities returns the Kubernetes authorities that a node accepts (secrets/root.go).
func authorities(cfg config.Provider) []*x509.PEMEncodedCertificate {
	accepted := slices.Clone(cfg.Cluster().AcceptedCAs())
	if issuing := cfg.Cluster().IssuingCA(); issuing != nil {
		accepted = append(accepted, &x509.PEMEncodedCertificate{Crt: issuing.Crt})
	}
	return accepted
}

// trusts reports whether a node accepts the API server of a control plane.
func trusts(node, controlPlane config.Provider) bool {
	issuing := controlPlane.Cluster().IssuingCA()
	return issuing != nil && slices.ContainsFunc(authorities(node), func(ca *x509.PEMEncodedCertificate) bool {
		return bytes.Equal(ca.Crt, issuing.Crt)
	})
}
