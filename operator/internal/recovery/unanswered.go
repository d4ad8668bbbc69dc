package recovery

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// A machine that our run created can be missing from the state: the tool or the engine was killed before it recorded the machine, or
// the answer to the clone request was lost. The provider starts a clone as its last step (bpg/terraform-provider-proxmox v0.69.1,
// vm.go, vmCreateClone and vmCreateStart), so a machine that ran is fully configured. It is adopted like a machine whose creation
// failed at the very end: the engine then reads it from the host and adds what it lacks.

// noAnswer is the init error of such a machine in the state.
const noAnswer = "its creation ended without an answer"

// unanswered is such a machine, with its inputs.
type unanswered struct {
	Remnant
	resource apitype.ResourceV3
}

// adopt adds a machine to those that [Survey.Note] adopts, with a note.
func (l *looking) adopt(remnant Remnant, machine apitype.ResourceV3) {
	l.note("VM %d (%s) is there, although the state knows only that its creation was begun: it is taken into the state", remnant.VMID, remnant.Name)
	l.found.Unanswered = append(l.found.Unanswered, remnant)
	l.found.lost = append(l.found.lost, unanswered{remnant, machine})
}

// isUnanswered reports whether a machine in the state was adopted by [Survey.Note] and is unchanged since.
func isUnanswered(machine apitype.ResourceV3, found *pve.Machine) bool {
	return slices.Contains(machine.InitErrors, noAnswer) && !differ(birthOf(machine), found.Birth)
}

// adopted returns the machine's new entry in the state. Its birth identifier is the one on the host, which differs from the one of
// the creation if an earlier run created the machine. It is modified after its creation, so that no later survey takes it for a
// machine that never ran.
func (u unanswered) adopted(now time.Time) apitype.ResourceV3 {
	machine := u.resource
	machine.ID = resource.ID(strconv.Itoa(u.VMID))
	machine.Inputs = maps.Clone(machine.Inputs)
	machine.Inputs["nodeName"] = u.Node
	if u.birth != "" && ownership.StackOfSystem(propertymap.Text(machine.Inputs, "description")) == "" { // no system is made with one
		machine.Inputs["smbios"] = withUUID(machine.Inputs["smbios"], u.birth)
	}
	machine.Outputs = machine.Inputs
	if !u.IsContainer { // of a container, nothing else is examined: the engine's refresh reads all of it
		machine.InitErrors = []string{noAnswer}
	}
	made := now.Add(-time.Second)
	machine.Created, machine.Modified = &made, &now
	return machine
}

// withUUID returns the firmware's settings with a birth identifier.
func withUUID(smbios any, birth string) map[string]any {
	settings, _ := smbios.(map[string]any)
	settings = maps.Clone(settings)
	if settings == nil {
		settings = map[string]any{}
	}
	settings["uuid"] = birth
	return settings
}

// Adoption returns a sentence about the adoption of a machine.
func (r Remnant) Adoption() string {
	return r.String() + " is taken into the state: a run of this stack made it, and got no answer"
}
