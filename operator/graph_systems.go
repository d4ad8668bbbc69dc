package operator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/operator/internal/graph"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// picture implements [layer].
func (l systemsLayer) picture(found StatusReport) graph.Drawn {
	return picturedSystems(l.Inventory, found.Systems)
}

// picturedSystems converts an inventory of systems into the picture's types, with what their hosts say of them, if they were asked.
func picturedSystems(inv *systems.Inventory, found []status.System) graph.Systems {
	picture := graph.Systems{Name: inv.File.Name, About: strings.Join([]string{
		manifest.Counted(len(inv.File.VirtualMachines), "virtual machine"), manifest.Counted(len(inv.File.Containers), "container"),
	}, " · ")}
	for _, machine := range inv.File.VirtualMachines {
		drawn := picturedSystem(machine.System, graph.VirtualMachine, cmp.Or(machine.Image, machine.ISO))
		for _, disk := range machine.DataDisks {
			drawn.DiskGiB += disk.SizeGiB
		}
		picture.Systems = append(picture.Systems, drawn)
	}
	for _, container := range inv.File.Containers {
		picture.Systems = append(picture.Systems, picturedSystem(container.System, graph.Container, container.Template))
	}
	for at := range picture.Systems {
		drawn := &picture.Systems[at]
		if of := slices.IndexFunc(found, func(s status.System) bool { return s.VMID == drawn.VMID }); of >= 0 {
			drawn.Status = found[of].Status
		}
	}
	return picture
}

func picturedSystem(s systems.System, kind graph.SystemKind, source string) graph.System {
	drawn := graph.System{
		Name: s.Name, Host: s.Host, Kind: kind, VMID: s.VMID, Source: source, Cores: s.Cores, MemoryMiB: s.MemoryMiB, DiskGiB: s.DiskGiB,
	}
	for _, card := range s.NICs {
		text := card.Bridge
		if address := card.Address.String(); address != "" { // that of a machine from an ISO is not known
			text = address + " on " + card.Bridge
		}
		if card.VLAN != 0 {
			text += fmt.Sprintf(", VLAN %d", card.VLAN)
		}
		drawn.Cards = append(drawn.Cards, text)
	}
	return drawn
}
