package components

import (
	"errors"
	"fmt"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/hardware/mapping"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/limits"
)

// HostMapping is a resource mapping of PCI devices: a name by which machines get a device of their host.
type HostMapping struct {
	// Name of the mapping. Required. A change deletes the former one.
	Name string
	// Comment of the mapping. Default: none. A change is applied in place.
	Comment string
	// Devices of the hosts. Required. A change is applied in place, and machines see it when they start again.
	Devices []HostDevice
}

// HostDevice is a PCI device of a host.
type HostDevice struct {
	// Host is the name of the node of Proxmox VE. Required. A change is applied in place.
	Host string
	// Device is the device. Required. A change is applied in place.
	Device PCIDevice
}

// newHostMapping registers a mapping. The provider has the resource, and a refresh reads it.
func newHostMapping(ctx *pulumi.Context, name string, wanted HostMapping, opts ...pulumi.ResourceOption) (*mapping.Pci, error) {
	args := &mapping.PciArgs{Name: pulumi.String(wanted.Name)}
	if wanted.Comment != "" {
		args.Comment = pulumi.String(wanted.Comment)
	}
	var maps mapping.PciMapTypeArray
	for _, one := range wanted.Devices {
		maps = append(maps, mapping.PciMapTypeArgs{
			Node:        pulumi.String(one.Host),
			Path:        pulumi.String(one.Device.BDF),
			Id:          pulumi.String(one.Device.DeviceID),
			SubsystemId: pulumi.String(one.Device.SubsystemID),
			IommuGroup:  pulumi.Int(one.Device.IOMMUGroup),
		})
	}
	args.Maps = maps
	return mapping.NewPci(ctx, name, args, opts...)
}

// HostMappingName returns the logical name of a mapping.
func HostMappingName(name, mapping string) string { return name + "-mapping-" + mapping }

func (m HostMapping) validate(at string) error {
	problems := []error{
		require(m.Name != "", at+".Name", "name the mapping"),
		requireName(limits.Mapping, m.Name, at+".Name"),
		require(len(m.Devices) > 0, at+".Devices", "give one device at least"),
	}
	for i, one := range m.Devices {
		device := fmt.Sprintf("%s.Devices[%d]", at, i)
		problems = append(problems, require(one.Host != "", device+".Host", "name the host"), one.Device.validate(device+".Device"))
	}
	return errors.Join(problems...)
}
