package components

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// holders maps each name, VMID, hardware address and address of a cluster to the argument that has it. Each may exist only once.
type holders struct {
	names     map[string]string
	vmids     map[int]string
	macs      map[string]string
	addresses map[netip.Addr]string
}

// newHolders returns the holders of what the templates have, the gateways, and the Kubernetes API.
func newHolders(args TalosClusterArgs) holders {
	h := holders{names: map[string]string{}, vmids: map[int]string{}, macs: map[string]string{}, addresses: map[netip.Addr]string{}}
	for i, template := range args.Templates {
		if template != nil {
			h.vmids[template.vmid] = fmt.Sprintf("Templates[%d]", i)
		}
	}
	for i, gateway := range args.Network.Gateways {
		h.addresses[gateway] = fmt.Sprintf("Network.Gateways[%d]", i)
	}
	h.addresses[args.VIP] = "VIP"
	return h
}

// add adds a machine. The errors name what a template or an earlier machine has already.
func (h holders) add(place string, m Machine) error {
	var problems []error
	if m.Name != "" {
		problems = append(problems, hold(h.names, m.Name, place, "Name"))
	}
	if m.VMID != 0 {
		problems = append(problems, hold(h.vmids, m.VMID, place, "VMID"))
	}
	problems = append(problems, h.addMAC(m.MAC, place, "MAC"))
	for i, address := range m.Addresses {
		problems = append(problems, h.addAddress(address, place, fmt.Sprintf("Addresses[%d]", i)))
	}
	for i, nic := range m.NICs {
		at := fmt.Sprintf("NICs[%d].", i)
		problems = append(problems, h.addMAC(nic.MAC, place, at+"MAC"), h.addAddress(nic.Address, place, at+"Address"))
	}
	return errors.Join(problems...)
}

// addMAC adds the address of a card. An invalid one is reported elsewhere.
func (h holders) addMAC(mac net.HardwareAddr, place, argument string) error {
	if len(mac) == 0 || slices.Max(mac) == 0 {
		return nil
	}
	return hold(h.macs, mac.String(), place, argument)
}

// addAddress adds an address. An invalid one is reported elsewhere, or belongs to a card without an address.
func (h holders) addAddress(address netip.Prefix, place, argument string) error {
	if !address.IsValid() {
		return nil
	}
	return hold(h.addresses, address.Addr(), place, argument)
}

func hold[Key comparable](holders map[Key]string, key Key, place, argument string) error {
	if holder, held := holders[key]; held {
		return require(false, place+"."+argument, fmt.Sprintf("%v is that of %s: choose another", key, holder))
	}
	holders[key] = place
	return nil
}
