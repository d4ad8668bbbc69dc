package discovery

import (
	"net/netip"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	talos "github.com/siderolabs/talos/pkg/machinery/config/config"
)

// shares reports whether a node is a control plane that runs with a virtual address.
func (n Node) shares(host string) bool {
	address, err := netip.ParseAddr(host)
	if err != nil || !n.ControlPlane {
		return false
	}
	running, err := parse(n.Configuration)
	return err == nil && slices.Contains(virtualAddresses(running), address)
}

// virtualAddresses returns those in a machine configuration, from its documents and from its old form.
func virtualAddresses(running config.Provider) []netip.Addr {
	var addresses []netip.Addr
	for _, virtual := range running.NetworkVirtualIPConfigs() {
		addresses = append(addresses, virtual.VIP())
	}
	add := func(virtual talos.VIPConfig) {
		if virtual == nil {
			return
		}
		if address, err := netip.ParseAddr(virtual.IP()); err == nil {
			addresses = append(addresses, address)
		}
	}
	for _, device := range running.Machine().Network().Devices() {
		add(device.VIPConfig())
		for _, vlan := range device.Vlans() {
			add(vlan.VIPConfig())
		}
	}
	return addresses
}
