package systems

import (
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// fault is the problem of one value.
type fault = strictyaml.Fault

// checker collects the problems of an inventory. A rule skips a missing value: that was reported when the file was decoded.
type checker struct {
	manifest.Checker

	inv  *Inventory
	file string
}

// rules checks everything after the file is decoded.
func (c *checker) rules() {
	c.names()
	c.sources()
	c.appliances()
	c.vmids()
	c.network()
	c.cards()
	c.disks()
	c.keys()
	c.pools()
	c.some()
}

// report records a problem of a value.
func (c *checker) report(at *strictyaml.Path, problem fault) {
	c.At(c.file, c.inv.source, at, problem)
}

// given reports whether the file itself has a value.
func (c *checker) given(at *strictyaml.Path) bool { return c.inv.source.Has(at) }

// key returns the path of nested keys.
func key(keys ...string) *strictyaml.Path {
	var path *strictyaml.Path
	for _, key := range keys {
		path = path.Key(key)
	}
	return path
}

// placed is a system with its place in the file.
type placed struct {
	System

	at        *strictyaml.Path
	appliance bool // it is installed from an ISO
}

// systems returns all systems with their places, virtual machines first.
func (i *Inventory) systems() []placed {
	var all []placed
	for at, machine := range i.File.VirtualMachines {
		all = append(all, placed{machine.System, key("virtualMachines").Index(at), machine.IsAppliance()})
	}
	for at, container := range i.File.Containers {
		all = append(all, placed{container.System, key("containers").Index(at), false})
	}
	return all
}

// some checks that there is at least one system or image.
func (c *checker) some() {
	f := c.inv.File
	if len(f.VirtualMachines)+len(f.Containers)+len(f.Images) == 0 && !c.given(key("virtualMachines")) && !c.given(key("containers")) {
		c.report(nil, fault{What: "describes no system", Rule: "virtualMachines, containers or images", Do: "add one"})
	}
}

// vmids checks that no two systems or templates share a VMID.
func (c *checker) vmids() {
	taken := map[int]*strictyaml.Path{}
	take := func(vmid int, at *strictyaml.Path) {
		if vmid == 0 {
			return
		}
		if first := taken[vmid]; first != nil {
			c.report(at.Key("vmid"), fault{What: "is the VMID of " + first.String() + " too", Rule: "VMIDs are unique", Got: strconv.Itoa(vmid), Do: inventory.AnotherVMID})
			return
		}
		taken[vmid] = at
	}
	for i, image := range c.inv.File.Images {
		take(image.VMID, key("images").Index(i))
	}
	for _, s := range c.inv.systems() {
		take(s.VMID, s.at)
	}
}
