package components

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// requireOneOfEachFamily refuses a second address of one IP family: the cloud-init drive has room for one of each.
func (m Machine) requireOneOfEachFamily() error {
	var problems []error
	for i, address := range m.Addresses {
		first := slices.IndexFunc(m.Addresses, func(other netip.Prefix) bool { return sameFamily(other.Addr(), address.Addr()) })
		problems = append(problems, require(!address.IsValid() || first == i, fmt.Sprintf("Addresses[%d]", i),
			fmt.Sprintf("%s is a second %s address: give at most one for each IP family", address, familyOf(address.Addr()))))
	}
	return errors.Join(problems...)
}

// validateGateways refuses a second default route of one IP family, which nothing uses, and a gateway outside of the subnets. An IPv6 gateway may
// be link-local, as with router advertisements.
func (n NodeNetwork) validateGateways() error {
	var problems []error
	for i, gateway := range n.Gateways {
		if !gateway.IsValid() {
			continue // reported elsewhere
		}
		at := fmt.Sprintf("Gateways[%d]", i)
		first := slices.IndexFunc(n.Gateways, func(other netip.Addr) bool { return sameFamily(other, gateway) })
		problems = append(problems,
			require(first == i, at, fmt.Sprintf("%s is a second %s gateway: give at most one for each IP family", gateway, familyOf(gateway))),
			require(gateway.Is6() && gateway.IsLinkLocalUnicast() || n.contains(gateway), at, fmt.Sprintf("%s is in none of Subnets: give an address of one of them", gateway)))
	}
	return errors.Join(problems...)
}

// requireAddressesOf refuses a machine outside of the network: etcd and the kubelet look for an address in its subnets.
func (n NodeNetwork) requireAddressesOf(m Machine) error {
	var problems []error
	for i, address := range m.Addresses {
		problems = append(problems, require(!address.IsValid() || n.contains(address.Addr()), fmt.Sprintf("Addresses[%d]", i),
			fmt.Sprintf("%s is in none of Network.Subnets: give an address of one of them", address)))
	}
	return errors.Join(problems...)
}

// contains reports whether an address is in one of the subnets; true if there is none, which is reported elsewhere.
func (n NodeNetwork) contains(address netip.Addr) bool {
	return len(n.Subnets) == 0 || slices.ContainsFunc(n.Subnets, func(subnet netip.Prefix) bool { return subnet.Contains(address) })
}

func sameFamily(one, other netip.Addr) bool {
	return one.IsValid() && other.IsValid() && one.Is4() == other.Is4()
}

func familyOf(address netip.Addr) string {
	if address.Is4() {
		return "IPv4"
	}
	return "IPv6"
}
