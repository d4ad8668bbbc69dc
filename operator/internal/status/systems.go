package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/terminal"
)

// System is a virtual machine or container that is no node of a cluster.
type System struct {
	// Name is that of the inventory.
	Name string `json:"name"`
	// Type is VM or CT.
	Type string `json:"type"`
	// VMID is that of the inventory.
	VMID int `json:"vmid"`
	// Host is where the inventory wants it.
	Host string `json:"host"`
	// Status is what its host reports, e.g. running or stopped; unknown if its host is off; absent if there is no guest of its VMID, type and name.
	Status string `json:"status"`
	// On is the host that it is on, if that is another one.
	On string `json:"on,omitempty"`
}

// The types of systems.
const (
	VirtualMachine = "VM"
	Container      = "CT"
)

// guestTypes are these types by those of Proxmox VE.
var guestTypes = map[string]string{pve.TypeVM: VirtualMachine, pve.TypeContainer: Container}

// is reports whether a guest is the system, by its VMID, name and type. One whose host is off is listed without its name.
func (s System) is(guest pve.Guest) bool {
	isNameless := guest.Name == "" && guest.Status == unknown
	return guest.VMID == s.VMID && guestTypes[guest.Type] == s.Type && (guest.Name == s.Name || isNameless)
}

// lacks returns what is wrong with a system; empty if nothing is.
func (s System) lacks() string {
	switch {
	case s.Status != running:
		return s.Name + " is " + s.Status
	case s.On != "":
		return s.Name + " is on " + s.On
	default:
		return ""
	}
}

// remedy returns what is wrong with a system and what to do about it; empty if nothing is wrong.
func (s System) remedy() string {
	switch {
	case s.Status == absent:
		return "it is not on its host: `em-infra up` makes it"
	case s.Status != running:
		return statusRemedy(s.Status, s.VMID, cmp.Or(s.On, s.Host))
	case s.On != "" && s.Type == Container:
		return "it is on " + s.On + ": move it back, or write host: " + s.On + " in systems.yaml"
	case s.On != "":
		return "it is on " + s.On + ": `em-infra up` moves it to " + s.Host + ", or write host: " + s.On + " in systems.yaml"
	default:
		return ""
	}
}

// text returns its number and status.
func (s System) text(out io.Writer) string {
	status := toned(out, s.Status == running, s.Status)
	if s.On != "" {
		status += " on " + toned(out, false, s.On)
	}
	return fmt.Sprintf("%s %d %s", s.Type, s.VMID, status)
}

// AskForSystems adds the systems of a stack that has them, with what their hosts report.
func (r Report) AskForSystems(ctx context.Context, reader pve.Reader, wanted []System) Report {
	if len(wanted) == 0 {
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	guests, err := reader.Guests(ctx)
	if err != nil {
		return r.WithUnread(fmt.Errorf("the systems: %w", err))
	}
	off, err := hostsOff(ctx, reader, guests)
	if err != nil {
		return r.WithUnread(fmt.Errorf("the systems: %w", err))
	}
	for _, system := range wanted {
		system.Status = absent
		at := slices.IndexFunc(guests, system.is)
		if at >= 0 {
			system.Status = guests[at].Status
			if off[guests[at].Node] != nil {
				system.Status = unknown // its last status is shown for some minutes
			}
			if guests[at].Node != system.Host {
				system.On = guests[at].Node
			}
		}
		r.Systems = append(r.Systems, system)
	}
	return r
}

func (r Report) systemsTable(out io.Writer) terminal.Table {
	table := terminal.Table{Header: []string{"SYSTEM", "HOST", "VM OR CT"}}
	for _, system := range r.Systems {
		table.Rows = append(table.Rows, []string{system.Name, system.Host, system.text(out)})
	}
	return table
}
