package hosts

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// mappings checks the resource mappings. A device in two of them would be given to two machines.
func (c *checker) mappings() {
	taken, devices := map[string]*strictyaml.Path{}, map[string]*strictyaml.Path{}
	for i, mapping := range c.inv.File.Mappings {
		at := key("mappings").Index(i)
		c.name(limits.Mapping, mapping.Name, at.Key("name"))
		c.unique(taken, mapping.Name, at.Key("name"))
		c.oneLine(mapping.Comment, at.Key("comment"))
		for d, device := range mapping.Devices {
			c.device(device, at.Key("devices").Index(d), devices)
		}
	}
}

func (c *checker) device(device MappedDevice, at *strictyaml.Path, taken map[string]*strictyaml.Path) {
	c.hostOfFile(device.Host, at.Key("host"))
	if device.Host == "" || device.BDF == "" {
		return
	}
	place := device.Host + " " + string(device.BDF)
	if first := taken[place]; first != nil {
		c.report(at.Key("bdf"), fault{What: "is mapped at " + first.String() + " too", Rule: "a device is in one mapping", Got: string(device.BDF), Do: "remove one of the two"})
		return
	}
	taken[place] = at
}

// usbMappings checks the resource mappings of USB devices. Proxmox VE takes one device of a host in a mapping.
func (c *checker) usbMappings() {
	taken := map[string]*strictyaml.Path{}
	for i, mapping := range c.inv.File.USBMappings {
		at := key("usbMappings").Index(i)
		c.name(limits.Mapping, mapping.Name, at.Key("name"))
		c.unique(taken, mapping.Name, at.Key("name"))
		c.oneLine(mapping.Comment, at.Key("comment"))
		for d, device := range mapping.Devices {
			at := at.Key("devices").Index(d)
			c.hostOfFile(device.Host, at.Key("host"))
			c.hasForm(limits.USBDevice, device.ID, at.Key("id"), "write it as `lsusb` does, like 0658:0200")
			c.hasForm(limits.USBPort, device.Port, at.Key("port"), "write it as `lsusb -t` does, like 1-2.1")
			first := slices.IndexFunc(mapping.Devices, func(other USBDevice) bool { return other.Host == device.Host })
			if device.Host != "" && first < d {
				c.report(at.Key("host"), fault{What: "has a device in this mapping already", Rule: "one device of a host", Got: device.Host, Do: "remove one of the two, or make another mapping"})
			}
		}
	}
}

// hostOfFile reports a host that the file does not have.
func (c *checker) hostOfFile(host string, at *strictyaml.Path) {
	if host != "" && !slices.Contains(c.inv.Hosts(), host) {
		c.report(at, fault{What: "is no host of this file", Rule: "the hosts are " + strings.Join(c.inv.Hosts(), ", "), Got: host, Do: "name one of them, or add it to hosts"})
	}
}
