package components

import (
	"errors"
	"fmt"
	"slices"

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
	problems := []error{validateMapping(m.Name, len(m.Devices), at)}
	for i, one := range m.Devices {
		device := fmt.Sprintf("%s.Devices[%d]", at, i)
		problems = append(problems, require(one.Host != "", device+".Host", "name the host"), one.Device.validate(device+".Device"))
	}
	return errors.Join(problems...)
}

func validateMapping(name string, devices int, at string) error {
	return errors.Join(
		require(name != "", at+".Name", "name the mapping"),
		requireName(limits.Mapping, name, at+".Name"),
		require(devices > 0, at+".Devices", "give one device at least"),
	)
}

// HostUSBMapping is a resource mapping of USB devices: a name by which machines get a device of their host.
type HostUSBMapping struct {
	// Name of the mapping. Required. A change deletes the former one.
	Name string
	// Comment of the mapping. Default: none. A change is applied in place.
	Comment string
	// Devices of the hosts, one for each host at most. Required. A change is applied in place, and machines see it when they start again.
	Devices []HostUSBDevice
}

// HostUSBDevice is a USB device of a host.
type HostUSBDevice struct {
	// Host is the name of the node of Proxmox VE. Required. A change is applied in place.
	Host string
	// ID is vendor:product. Required. A change is applied in place.
	ID string
	// Port is bus-port. Default: any port. A change is applied in place.
	Port string
}

// newHostUSBMapping registers a mapping of USB devices, by the provider's resource.
func newHostUSBMapping(ctx *pulumi.Context, name string, wanted HostUSBMapping, opts ...pulumi.ResourceOption) (*mapping.Usb, error) {
	args := &mapping.UsbArgs{Name: pulumi.String(wanted.Name)}
	if wanted.Comment != "" {
		args.Comment = pulumi.String(wanted.Comment)
	}
	var maps mapping.UsbMapTypeArray
	for _, one := range wanted.Devices {
		device := mapping.UsbMapTypeArgs{Node: pulumi.String(one.Host), Id: pulumi.String(one.ID)}
		if one.Port != "" {
			device.Path = pulumi.String(one.Port)
		}
		maps = append(maps, device)
	}
	args.Maps = maps
	return mapping.NewUsb(ctx, name, args, opts...)
}

// HostUSBMappingName returns the logical name of a mapping of USB devices.
func HostUSBMappingName(name, mapping string) string { return name + "-usb-mapping-" + mapping }

func (m HostUSBMapping) validate(at string) error {
	problems := []error{validateMapping(m.Name, len(m.Devices), at)}
	for i, one := range m.Devices {
		at := fmt.Sprintf("%s.Devices[%d]", at, i)
		first := slices.IndexFunc(m.Devices, func(other HostUSBDevice) bool { return other.Host == one.Host })
		problems = append(problems, require(one.Host != "", at+".Host", "name the host"),
			require(one.Host == "" || first == i, at+".Host", one.Host+" has a device in this mapping already"),
			requireNew(limits.USBDevice, one.ID, false, at+".ID"),
			require(one.Port == "" || limits.USBPort.Matches(one.Port), at+".Port", fmt.Sprintf("%q is not %s: correct it", one.Port, limits.USBPort.Words)))
	}
	return errors.Join(problems...)
}
