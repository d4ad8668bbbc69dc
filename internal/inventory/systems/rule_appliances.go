package systems

import (
	"path"
	"regexp"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// disc is the name of the file of an ISO at its source, with the compressions that Proxmox VE undoes for this content (pve-storage,
// PVE/Storage.pm, decompressor_info).
var disc = regexp.MustCompile(`(?i)\.iso(\.(gz|bz2|zst))?$`)

// File returns the name that the file of an ISO gets on its hosts.
func (i ISO) File() string { return fileOf(i.Name, i.Checksum, ".iso") }

// appliances checks the ISOs, and the machines that are installed from one.
func (c *checker) appliances() {
	isos := map[string]*strictyaml.Path{}
	for i, iso := range c.inv.File.ISOs {
		at := key("isos").Index(i)
		c.dnsLabel(iso.Name, at.Key("name"))
		c.unique(isos, iso.Name, at)
		if iso.URL.Path != "" && !disc.MatchString(path.Base(iso.URL.Path)) {
			c.report(at.Key("url"), fault{What: "is no ISO", Rule: "its file ends with .iso, .iso.gz, .iso.bz2 or .iso.zst", Got: iso.URL.String(), Do: "name another file"})
		}
	}
	for i, machine := range c.inv.File.VirtualMachines {
		at := key("virtualMachines").Index(i)
		c.installation(machine, at)
		if machine.ISO != "" && isos[machine.ISO] == nil {
			c.report(at.Key("iso"), unknownSource("ISO", "isos", machine.ISO, isos))
		}
		if machine.IsAppliance() {
			c.ownInstaller(machine, at)
		}
	}
}

// installation checks that a machine has exactly one of image and ISO, from which its system comes.
func (c *checker) installation(machine VirtualMachine, at *strictyaml.Path) {
	image, iso := c.given(at.Key("image")), c.given(at.Key("iso"))
	switch {
	case image && iso:
		c.report(at.Key("iso"), fault{What: "is given beside image", Rule: "a machine is cloned from an image, or installed from an ISO", Got: machine.ISO, Do: "remove one of the two"})
	case !image && !iso:
		c.report(at.Key("image"), fault{What: "is missing", Rule: "a machine is cloned from an image, or installed from an ISO", Do: "add image or iso"})
	}
	if !iso && c.given(at.Key("ejected")) {
		c.report(at.Key("ejected"), fault{What: "is given without iso", Rule: "nothing else is in the drive of a machine", Do: "remove the key"})
	}
}

// ownInstaller refuses what only cloud-init could write into a machine.
func (c *checker) ownInstaller(machine VirtualMachine, at *strictyaml.Path) {
	written := []*strictyaml.Path{at.Key("user"), at.Key("sshKeys"), at.Key("nameservers"), at.Key("searchDomain")}
	for i := range machine.NICs {
		card := at.Key("networks").Index(i)
		written = append(written, card.Key("address"), card.Key("gateway"))
	}
	for _, one := range written {
		if c.given(one) {
			c.report(one, fault{What: "is given for a machine that is installed from an ISO", Rule: "no cloud-init writes it there", Do: "remove the key, and set it in the machine's own installer"})
		}
	}
}
