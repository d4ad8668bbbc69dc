package risk

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/machineupdate"
	"github.com/em-infra/em-infra/internal/pve"
)

// isSystem reports whether a step is that of a machine or a container that is no node of a cluster.
func isSystem(s plan.Step) bool {
	if !s.Parent.IsValid() {
		return false
	}
	parent, kind := s.Parent.Type(), s.URN.Type()
	return parent == token.StandaloneMachine && kind == token.VirtualMachine || parent == token.StandaloneContainer && kind == token.Container
}

func system(op apitype.OpType) func(plan.Step, topology) bool {
	return func(s plan.Step, _ topology) bool { return s.Op == op && isSystem(s) }
}

// freedBySystems returns the VMIDs of systems that are deleted, with their names.
func freedBySystems(all []plan.Step) map[string]string {
	freed := map[string]string{}
	for _, s := range all {
		if s.Op == apitype.OpDelete && isSystem(s) {
			freed[vmidOf(s.Old)] = systemName(s)
		}
	}
	return freed
}

// systemsOf returns the names of systems, by their components.
func systemsOf(all []plan.Step) map[resource.URN]string {
	names := map[resource.URN]string{}
	for _, s := range all {
		if isSystem(s) {
			names[s.Parent] = systemName(s)
		}
	}
	return names
}

func vmidOf(inputs map[string]any) string { return fmt.Sprint(propertymap.At(inputs, "vmId")) }

// systemName returns the name of a system as the inventory has it.
func systemName(s plan.Step) string {
	for _, path := range []string{"name", "initialization.hostname"} {
		if name := propertymap.Text(s.Present(), path); name != "" {
			return name
		}
	}
	return s.Parent.Name()
}

// guestOf returns a system as Proxmox VE shows it: VM 210 on vmhost.
func guestOf(s plan.Step) string {
	kind := "VM"
	if s.URN.Type() == token.Container {
		kind = "CT"
	}
	return fmt.Sprintf("%s %s on %v", kind, vmidOf(s.Present()), propertymap.At(s.Present(), "nodeName"))
}

func systemCreated(s plan.Step, t topology) *Finding {
	f := &Finding{Kind: Create, Subject: systemName(s), What: []string{guestOf(s)}, rank: rankRest}
	if address := firstAddress(s.New); address != "" {
		f.What[0] += ", " + address
	}
	f.addInstallation(s)
	if former := t.freed[vmidOf(s.New)]; former != "" {
		f.Kind, f.What = Impossible, []string{fmt.Sprintf("VMID %s is that of %s, which is deleted in the same run: a new system is made before an old one is deleted", vmidOf(s.New), former)}
		f.Means = []string{fmt.Sprintf("to begin anew under the other name, remove %s, run up, and then add %s", former, f.Subject)}
		f.Undo = []string{"set name back to " + former}
	}
	return f
}

// addInstallation adds what a new machine boots if it is not cloned from a template: its disk is blank.
func (f *Finding) addInstallation(s plan.Step) {
	switch {
	case s.URN.Type() != token.VirtualMachine || isClone(s.New):
	case discOf(s.New) != "":
		f.Means = append(f.Means, "it boots the ISO in its drive: install it on its console in Proxmox VE, then set ejected: true")
	case propertymap.Text(s.New, "cdrom.fileId") == "none":
		f.Means = append(f.Means, "its disk is blank and its drive is empty, so it boots nothing: set ejected: false, run up, and install it")
	}
}

// isClone reports whether a machine is cloned from a template. A machine whose image was changed to an ISO still counts as a clone.
func isClone(inputs map[string]any) bool { return propertymap.At(inputs, "clone") != nil }

// firstAddress returns the first static address of a system, without the length of its subnet.
func firstAddress(inputs map[string]any) string {
	for _, path := range []string{"initialization.ipConfigs[0].ipv4.address", "initialization.ipConfigs[0].ipv6.address"} {
		if address, _, static := strings.Cut(propertymap.Text(inputs, path), "/"); static {
			return address
		}
	}
	return ""
}

// systemChanged reports what a change does: a virtual machine is stopped and started for most of its hardware, and a container for its
// size, its network and its system.
func systemChanged(s plan.Step, t topology) *Finding {
	f := &Finding{Kind: Change, Subject: systemName(s), rank: rankRest}
	of := machineupdate.OfVirtualMachine
	if s.URN.Type() == token.Container {
		of = machineupdate.OfContainer
	}
	f.addChanges(s, of)
	f.addMoveWithDisc(s, t)
	if f.Kind == Reboot {
		f.Means = append(f.Means, fmt.Sprintf("it is away while it reboots, about %d min", rebootMinutes))
	}
	return f
}

// discOf returns the ISO in the drive of a machine; "" for none.
func discOf(inputs map[string]any) string {
	if volume := propertymap.Text(inputs, "cdrom.fileId"); strings.Contains(volume, ":iso/") {
		return volume
	}
	return ""
}

// addMoveWithDisc makes it impossible to move a machine with an ISO in its drive to another host: Proxmox VE migrates none with an ISO on a
// storage that both hosts do not share (qemu-server, QemuMigrate.pm, scan_local_volumes), and the provider migrates a machine before it
// changes its drive (bpg/terraform-provider-proxmox v0.73.0, vm.go, vmUpdate).
func (f *Finding) addMoveWithDisc(s plan.Step, t topology) {
	before, after := propertymap.Text(s.Old, "nodeName"), propertymap.Text(s.New, "nodeName")
	if before == after || discOf(s.Old) == "" {
		return
	}
	f.Kind, f.Means = Impossible, nil
	f.What = append(f.What, "a machine does not move with an ISO in its drive, "+discOf(s.Old))
	if isDiscOfOthers(s, t) {
		f.Undo = append(f.Undo, fmt.Sprintf("set host back to %[1]s for %[2]s, empty its drive as root on %[1]s: `qm set %[3]s --ide0 none,media=cdrom`, and then move it", before, f.Subject, vmidOf(s.Old)))
		return
	}
	f.Undo = append(f.Undo, fmt.Sprintf("set host back to %s for %s and ejected: true, run up, and then move it", before, f.Subject))
}

// isDiscOfOthers reports whether a user has put the ISO into the drive of a machine with an image. No run empties that drive, and the inventory has
// no ejected for it.
func isDiscOfOthers(s plan.Step, t topology) bool {
	disc := discOf(s.Old)
	return isClone(s.New) && discOf(s.New) == disc && len(t.sources[disc]) == 0
}

// replacing are the properties of a system whose change replaces it, by their keys in the inventory. The addition or removal of an optional one
// does so, too. Other properties for which the provider replaces a container are not in the inventory (bpg/terraform-provider-proxmox v0.73.0,
// container.go, ForceNew).
var replacing = []struct {
	path, key string
	optional  bool
}{
	{"vmId", "vmid", false}, {"nodeName", "host", false}, {"disk.datastoreId", "diskStorage", false}, {"poolId", "pool", true},
	{"unprivileged", "unprivileged", false},
}

// valueAt returns the value of a property; nil also for one that is empty, which a provider may write for none.
func valueAt(properties map[string]any, path string) any {
	if value := propertymap.At(properties, path); value != "" {
		return value
	}
	return nil
}

// systemReplaced needs consent: what is on the disks of a system is nowhere else.
func systemReplaced(s plan.Step, _ topology) *Finding {
	f := &Finding{Kind: Replace, Subject: systemName(s), rank: rankRest}
	for _, fact := range replacing {
		before, after := valueAt(s.Old, fact.path), valueAt(s.New, fact.path)
		switch {
		case before == after || !fact.optional && (before == nil || after == nil):
		case before == nil:
			f.What = append(f.What, fmt.Sprintf("%s none → %v", fact.key, after))
			f.Undo = append(f.Undo, "remove "+fact.key)
		default:
			f.What = append(f.What, fmt.Sprintf("%s %v → %v", fact.key, before, cmp.Or[any](after, "none")))
			f.Undo = append(f.Undo, fmt.Sprintf("set %s back to %v", fact.key, before))
		}
	}
	f.What = append(f.What, "it is deleted and made again")
	f.Means = []string{"what is on its disks is lost"}
	f.addInstallation(s)
	f.Needs = []Permission{{Flag: FlagReplace, Subject: f.Subject}}
	return f
}

func systemDeleted(s plan.Step, _ topology) *Finding {
	name := systemName(s)
	return &Finding{
		Kind: Delete, Subject: name, What: []string{guestOf(s) + " is deleted"}, Means: []string{"what is on its disks is lost"}, rank: rankRest,
		Needs: []Permission{{Flag: FlagDelete, Subject: name}}, Undo: []string{"put " + name + " back into systems.yaml"},
	}
}

// rootOfContainer matches the Command that grows the root of a container.
func rootOfContainer(s plan.Step, _ topology) bool {
	return s.URN.Type() == token.Command && s.Parent.IsValid() && s.Parent.Type() == token.StandaloneContainer
}

// rootGrows returns the finding with the sizes, which end the text of the Command. A new container has a line of its own.
func rootGrows(s plan.Step, t topology) *Finding {
	before, after := pve.GrownGiB(propertymap.Text(s.Old, "create")), pve.GrownGiB(propertymap.Text(s.New, "create"))
	if s.Op != apitype.OpUpdate || before == after || before == 0 {
		return nil
	}
	f := &Finding{Kind: Change, Subject: cmp.Or(t.systems[s.Parent], s.Parent.Name()), What: []string{fmt.Sprintf("disk %d → %d GiB", before, after)}, rank: rankRest}
	if after < before {
		f.Kind = Impossible
		f.What[0] += " cannot shrink: Proxmox VE only grows disks"
		f.Undo = []string{fmt.Sprintf("set diskGiB back to %d", before)}
	}
	return f
}
