package components

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// HostNetwork is the network of one host. All changes of it are staged, and applied with one reload.
type HostNetwork struct {
	// Host is the name of the node of Proxmox VE. Required. A change deletes what was created on the former one.
	Host string
	// Interfaces are bridges and VLANs. An interface that exists is changed to what is wanted; others than those named here stay as they
	// are. Default: none. A change is staged on the host and applied with one reload; an interface that was created here and is left out is
	// deleted, unless machines use it.
	Interfaces []HostInterface
}

// HostInterface is a Linux bridge, or a VLAN if it has a Device. A change of any field is applied in place by the reload of its host.
type HostInterface struct {
	// Name of the interface, e.g. vmbr1, or vmbr1.30 for the VLAN 30 of vmbr1. Required.
	Name string
	// Ports of a bridge. Default: none, a bridge for machines alone.
	Ports []string
	// VLANAware is whether a bridge passes tagged frames to machines. Default: false.
	VLANAware bool
	// Device that a VLAN is on, and its Tag. Default: none, the interface is a bridge.
	Device string
	// Tag of a VLAN, 1 to 4094. Required with a Device. Default: 0.
	Tag int
	// Address and Address6 of the host, with the length of the network. Default: none.
	Address, Address6 netip.Prefix
	// Gateway and Gateway6 are default routes. Default: none.
	Gateway, Gateway6 netip.Addr
	// MTU in bytes, 1280 to 65520. Default: 0, that of the device. A card or bond that the interface is made of gets it, too, if it has less, and
	// keeps it.
	MTU int
	// Comment of the interface. Default: none.
	Comment string
}

// newHostNetwork registers the Command that applies the network of a host. Its delete deletes the interfaces that it has created.
func newHostNetwork(ctx *pulumi.Context, name, owner string, network HostNetwork, api ProxmoxAPI, opts ...pulumi.ResourceOption) (*local.Command, error) {
	environment := api.environment()
	environment["EM_INFRA_HOST_NETWORK"] = pulumi.String(network.Spec(owner).Text())
	return local.NewCommand(ctx, name, &local.CommandArgs{
		Create:      pulumi.String(Tool + " host network apply"),
		Delete:      pulumi.String(Tool + " host network release"),
		Environment: environment,
		Triggers:    pulumi.ToArray([]any{owner, network.Host}),
	}, opts...)
}

// HostNetworkName returns the logical name of the network of a host.
func HostNetworkName(name, host string) string { return name + "-network-" + host }

// Spec returns the network in the form that the tool reads.
func (n HostNetwork) Spec(owner string) hostspec.Network {
	wanted := hostspec.Network{Node: n.Host, Owner: owner}
	for _, one := range n.Interfaces {
		wanted.Interfaces = append(wanted.Interfaces, hostspec.Interface{
			Name: one.Name, Ports: one.Ports, VLANAware: one.VLANAware, Device: one.Device, Tag: one.Tag, Address: one.Address,
			Address6: one.Address6, Gateway: one.Gateway, Gateway6: one.Gateway6, MTU: one.MTU, Comment: one.Comment,
		})
	}
	return wanted
}

func (n HostNetwork) validate(at string) error {
	problems := []error{
		require(n.Host != "", at+".Host", "name the host"),
		requireName(limits.Host, n.Host, at+".Host"),
	}
	for i, one := range n.Interfaces {
		problems = append(problems, one.validate(fmt.Sprintf("%s.Interfaces[%d]", at, i)))
		named := func(other HostInterface) bool { return other.Name == one.Name }
		problems = append(problems, require(slices.IndexFunc(n.Interfaces, named) == i, fmt.Sprintf("%s.Interfaces[%d].Name", at, i), one.Name+" is given twice"))
	}
	return errors.Join(problems...)
}

func (i HostInterface) validate(at string) error {
	problems := []error{
		require(i.Name != "", at+".Name", "name the interface"),
		requireName(limits.Interface, i.Name, at+".Name"),
		requireName(limits.Interface, i.Device, at+".Device"),
		require(i.MTU == 0 || limits.HostMTU.Contains(i.MTU), at+".MTU", fmt.Sprintf("%d: choose one from %d to %d", i.MTU, limits.HostMTU.Min, limits.HostMTU.Max)),
	}
	for p, port := range i.Ports {
		problems = append(problems, requireName(limits.Interface, port, fmt.Sprintf("%s.Ports[%d]", at, p)))
	}
	if i.Device == "" {
		problems = append(problems, require(i.Tag == 0, at+".Device", "name the device of the VLAN"))
	} else {
		problems = append(problems,
			require(limits.VLAN.Min <= i.Tag && i.Tag <= limits.VLAN.Max, at+".Tag", fmt.Sprintf("%d: choose one from %d to %d", i.Tag, limits.VLAN.Min, limits.VLAN.Max)),
			require(len(i.Ports) == 0 && !i.VLANAware, at+".Ports", "a VLAN has a Device, and no ports"))
	}
	return errors.Join(problems...)
}
