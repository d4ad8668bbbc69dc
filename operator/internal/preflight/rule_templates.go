package preflight

import (
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

// isoVersion matches the version in the name of a template's ISO (components/image.go).
var isoVersion = regexp.MustCompile(`iso/talos-(v[^/,]+?)-nocloud-`)

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
			whose, remedy := found.stranger(guest, templateVersion(found.Configs[vmid].Value) != "")
			s.fail("template", remedy+anotherTemplate, "VMID %d of the template on %s is taken by %s%s", vmid, host, Described(guest), whose)
			continue
		}
		checkTemplate(s, inv, host, guest, found.Configs[vmid])
	}
}

func checkTemplate(s *collector, inv *inventory.Inventory, host string, guest pve.Guest, config Reading[pve.GuestConfig]) {
	wanted := inv.Cluster.Talos.Version.String()
	version := templateVersion(config.Value)
	switch {
	case isBeingMade(guest, config):
		s.warn("template", beingMade, "VM %d on %s is being made; it is taken for the template, which a run before may have begun", guest.VMID, guest.Node)
	case isOurTemplate(inv, guest) && guest.Node == host && !bool(guest.Template):
		s.ok("template", "%s is half made by a run before: up goes on from there", Described(guest))
	case !bool(guest.Template) || guest.Node != host:
		s.fail("template", anotherTemplate, "VMID %d of the template on %s is taken by %s", guest.VMID, host, Described(guest))
	case config.Err != nil:
		s.unread("template", Described(guest), config.Err)
	case version == "":
		s.fail("template", "set another proxmox.template.vmid, or delete that template", "%s is not one of ours: no Talos ISO is in its drive", Described(guest))
	case version != wanted:
		s.ok("template", "%s is of Talos %s: up replaces it by one of %s, running nodes stay as they are", Described(guest), version, wanted)
	default:
		s.ok("template", "%s is of Talos %s", Described(guest), version)
	}
}

const anotherTemplate = "set another proxmox.template.vmid, or perHost for a further host"

func isOurTemplate(inv *inventory.Inventory, guest pve.Guest) bool {
	return guest.Type == qemu && guest.Name == inv.Cluster.TemplateName()
}

// templateVersion returns the version of the Talos ISO in a template's drive; empty if there is none.
func templateVersion(config pve.GuestConfig) string {
	var versions []string
	for key, drive := range config {
		if !strings.Contains(drive, "media=cdrom") || strings.HasPrefix(key, "unused") {
			continue
		}
		if match := isoVersion.FindStringSubmatch(drive); match != nil {
			versions = append(versions, match[1])
		}
	}
	if len(versions) == 0 {
		return ""
	}
	return slices.Min(versions)
}
