package systems

import (
	"path/filepath"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Claims implements [inventory.Claimant]: it returns what the systems and the templates of images claim for themselves, in the order of the file.
func (i *Inventory) Claims() []inventory.Claim {
	var all []inventory.Claim
	add := func(name, kind, value string, at *strictyaml.Path, do string) {
		claim := inventory.ClaimOf(name, kind, value, at, do)
		claim.File, claim.Source = filepath.Join(i.Dir, manifest.SystemsFile), i.source
		all = append(all, claim)
	}
	for at, image := range i.File.Images {
		path := key("images").Index(at)
		add(image.Name, inventory.ClaimedName, image.Name, path.Key("name"), "choose another name")
		add(image.Name, inventory.ClaimedVMID, strconv.Itoa(image.VMID), path.Key("vmid"), inventory.AnotherVMID)
	}
	for _, s := range i.systems() {
		add(s.Name, inventory.ClaimedName, s.Name, s.at.Key("name"), "choose another name")
		add(s.Name, inventory.ClaimedVMID, strconv.Itoa(s.VMID), s.at.Key("vmid"), inventory.AnotherVMID)
		for at, card := range s.NICs {
			path := s.at.Key("networks").Index(at)
			if card.Address.IsStatic() {
				add(s.Name, inventory.ClaimedAddress, card.Address.Addr().String(), path.Key("address"), inventory.AnotherAddress)
			}
			add(s.Name, inventory.ClaimedMAC, card.MAC.String(), path.Key("mac"), inventory.AnotherMAC)
		}
	}
	return all
}
