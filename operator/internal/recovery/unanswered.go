package recovery

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/pve"
)

// A machine can be there without the state knowing it, although a run of ours made it: the tool or the engine was killed
// between its start and the note of it, or the answer to its clone was lost. The provider starts a clone when everything else is
// done (bpg/terraform-provider-proxmox v0.69.1, vm.go, vmCreateClone and vmCreateStart), so one that ran was configured whole. It
// is taken into the state as the engine takes one whose creation failed at its very end: the engine then reads it from the host,
// and adds what it lacks.

// noAnswer is why such a machine has init errors in the state.
const noAnswer = "its creation ended without an answer"

// unanswered is such a machine, with the inputs that it was made with.
type unanswered struct {
	Remnant
	resource apitype.ResourceV3
}

// adopt has a machine taken into the state, and says so.
func (l *looking) adopt(remnant Remnant, machine apitype.ResourceV3) {
	l.note("VM %d (%s) is there, although the state knows only that its creation was begun: it is taken into the state", remnant.VMID, remnant.Name)
	l.found.Unanswered = append(l.found.Unanswered, remnant)
	l.found.lost = append(l.found.lost, unanswered{remnant, machine})
}

// isUnanswered reports whether a machine in the state was taken into it by [Survey.Note], and nothing was made of it since.
func isUnanswered(machine apitype.ResourceV3, found *pve.Machine) bool {
	return slices.Contains(machine.InitErrors, noAnswer) && !differ(birthOf(machine), found.Birth)
}

// adopted is the machine as it stands in the state from now on. Its mark of birth is that which it has: it is another than that
// of the creation where an earlier run made it. It was changed after it had been made, so that no later look takes it for one that
// never ran.
func (u unanswered) adopted(now time.Time) apitype.ResourceV3 {
	machine := u.resource
	machine.ID = resource.ID(strconv.Itoa(u.VMID))
	machine.Inputs = maps.Clone(machine.Inputs)
	machine.Inputs["nodeName"] = u.Node
	if u.birth != "" {
		machine.Inputs["smbios"] = withUUID(machine.Inputs["smbios"], u.birth)
	}
	machine.Outputs = machine.Inputs
	machine.InitErrors = []string{noAnswer}
	made := now.Add(-time.Second)
	machine.Created, machine.Modified = &made, &now
	return machine
}

// withUUID are the firmware's settings with a mark of birth.
func withUUID(smbios any, birth string) map[string]any {
	settings, _ := smbios.(map[string]any)
	settings = maps.Clone(settings)
	if settings == nil {
		settings = map[string]any{}
	}
	settings["uuid"] = birth
	return settings
}

// Adoption says what [Survey.Note] does with a machine that the state does not know.
func (r Remnant) Adoption() string {
	return "VM " + strconv.Itoa(r.VMID) + " (" + r.Name + ") on " + r.Node + " is taken into the state: a run of ours made it, and was not told"
}
