package preflight

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

// isoName matches the version and the beginning of the schematic's ID in the name of a template's ISO (components/image.go).
var isoName = regexp.MustCompile(`iso/talos-(v[^/,]+?)-nocloud-([0-9a-f]{16})?`)

func checkTemplates(s *collector, inv *inventory.Inventory, found Snapshot) {
	if found.Guests.Err != nil {
		return // reported by checkVMIDs
	}
	for _, host := range inv.TemplateHosts() {
		if found.status(host) != online {
			continue // reported by checkHosts
		}
		vmid := inv.Cluster.TemplateVMID(host)
		guest, there := found.guest(vmid)
		if !there {
			s.ok("template", "template %d is not on %s yet: up makes it", vmid, host)
			continue
		}
		if !isBeingMade(guest, found.Configs[vmid]) && found.Configs[vmid].Err == nil && !found.belongs(guest) {
			whose, remedy := found.stranger(guest, imageIn(found.Configs[vmid].Value).version != "")
			s.fail("template", remedy+anotherTemplate, "VMID %d of the template on %s is taken by %s%s", vmid, host, Described(guest), whose)
			continue
		}
		checkTemplate(s, inv, host, guest, found.Configs[vmid], found.Factory.Schematic)
	}
}

func checkTemplate(s *collector, inv *inventory.Inventory, host string, guest pve.Guest, config Reading[pve.GuestConfig], schematic string) {
	wanted := inv.Cluster.Talos.Version.String()
	image := imageIn(config.Value)
	switch {
	case isBeingMade(guest, config):
		s.warn("template", beingMade, "VM %d on %s is being made; it is taken for the template, which a run before may have begun", guest.VMID, guest.Node)
	case isOurTemplate(inv, guest) && guest.Node == host && !bool(guest.Template):
		s.ok("template", "%s is half made by a run before: up goes on from there", Described(guest))
	case !bool(guest.Template) || guest.Node != host:
		s.fail("template", anotherTemplate, "VMID %d of the template on %s is taken by %s", guest.VMID, host, Described(guest))
	case config.Err != nil:
		s.unread("template", Described(guest), config.Err)
	case image.version == "":
		s.fail("template", "set another proxmox.template.vmid, or delete that template", "%s is not one of ours: no Talos ISO is in its drive", Described(guest))
	case image.version != wanted:
		s.ok("template", "%s is of Talos %s: up replaces it by one of %s, running nodes stay as they are", Described(guest), image.version, wanted)
	case !image.hasSchematic(schematic):
		s.ok("template", "%s is of Talos %s with another schematic: up replaces it by one of talos.schematic", Described(guest), image.version)
	default:
		s.ok("template", "%s is of Talos %s", Described(guest), image.version)
	}
}

const anotherTemplate = "set another proxmox.template.vmid, or perHost for a further host"

func isOurTemplate(inv *inventory.Inventory, guest pve.Guest) bool {
	return guest.Type == qemu && guest.Name == inv.Cluster.TemplateName()
}

// templateImage is what a template's ISO is made from; zero if there is none.
type templateImage struct {
	version   string
	schematic string // the beginning of its ID
}

// wantedBy reports whether the image is the inventory's.
func (i templateImage) wantedBy(inv *inventory.Inventory, found Snapshot) bool {
	return i.version == inv.Cluster.Talos.Version.String() && i.hasSchematic(found.Factory.Schematic)
}

// hasSchematic reports whether the image may be of a schematic: if one of the two IDs is unknown, that is no difference.
func (i templateImage) hasSchematic(id string) bool {
	return id == "" || strings.HasPrefix(id, i.schematic)
}

// imageOf returns the image of a Talos ISO by its name; zero for another volume.
func imageOf(volume string) templateImage {
	match := isoName.FindStringSubmatch(volume)
	if match == nil {
		return templateImage{}
	}
	return templateImage{match[1], match[2]}
}

// imageIn returns the image of the Talos ISO in a template's drive.
func imageIn(config pve.GuestConfig) templateImage {
	var images []templateImage
	for key, drive := range config {
		if !strings.Contains(drive, "media=cdrom") || strings.HasPrefix(key, "unused") {
			continue
		}
		if image := imageOf(drive); image != (templateImage{}) {
			images = append(images, image)
		}
	}
	if len(images) == 0 {
		return templateImage{}
	}
	return slices.MinFunc(images, func(a, b templateImage) int {
		return cmp.Or(strings.Compare(a.version, b.version), strings.Compare(a.schematic, b.schematic))
	})
}
