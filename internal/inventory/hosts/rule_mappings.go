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
	if device.Host != "" && !slices.Contains(c.inv.Hosts(), device.Host) {
		c.report(at.Key("host"), fault{What: "is no host of this file", Rule: "the hosts are " + strings.Join(c.inv.Hosts(), ", "), Got: device.Host, Do: "name one of them, or add it to hosts"})
	}
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
