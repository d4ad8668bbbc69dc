package recovery

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/machineconfig"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// birthOf returns the birth identifier of a machine in a deployment; "" for a machine from before these identifiers.
func birthOf(machine apitype.ResourceV3) string {
	return strings.ToLower(propertymap.Text(machine.Inputs, "smbios.uuid"))
}

// differ reports whether two birth identifiers are known and belong to different machines.
func differ(a, b string) bool { return a != "" && b != "" && !strings.EqualFold(a, b) }

// isAnother reports whether the configuration in the state was applied to a machine with another birth identifier than the one on
// the host.
func (w witnesses) isAnother(machine resource.URN, found *pve.Machine) bool {
	configuration := state.ConfigurationOf(*w.deployment, machine)
	if configuration == nil {
		return false
	}
	text, isText, err := propertymap.PlainText(configuration.Inputs, state.PropertyConfiguration)
	return err == nil && isText && differ(machineconfig.BirthIn(text), found.Birth)
}

// isProvenBy reports whether a machine on the host is certainly the one that a creation was to make: it has the same birth
// identifier, or its description names our stack and cluster. A system, which has neither, has the mark of our stack as its whole
// description, and the name.
func (w wanted) isProvenBy(found *pve.Machine) bool {
	owner, isMarked := ownership.In(w.Description)
	return w.SMBIOS.UUID != "" && strings.EqualFold(w.SMBIOS.UUID, found.Birth) || isMarked && found.Owner == owner ||
		w.isSystem() && found.Stack == ownership.StackOfSystem(w.Description) && found.Name == w.Name
}

// isSystem reports whether the machine is one of a stack of systems.
func (w wanted) isSystem() bool { return ownership.StackOfSystem(w.Description) != "" }

// isMarked reports whether the machine was to have a mark of its owner in its description.
func (w wanted) isMarked() bool {
	_, ofCluster := ownership.In(w.Description)
	return ofCluster || w.isSystem()
}

// hasMark reports whether a machine on the host has a mark of any owner.
func hasMark(found *pve.Machine) bool { return found.Owner != (ownership.Owner{}) || found.Stack != "" }

// ownerOf returns the owner that the mark of a machine on the host names, for a message.
func ownerOf(found *pve.Machine) string {
	if found.Stack != "" {
		return "stack " + found.Stack
	}
	return found.Owner.String()
}

// isStrangers reports whether a machine at our VMID is certainly not ours: it has the mark of another owner, or it has another name, and nothing
// proves it ours.
func (w wanted) isStrangers(found *pve.Machine) bool {
	if found.Empty || w.isProvenBy(found) {
		return false
	}
	return found.Name != w.Name || w.isMarked() && hasMark(found)
}

// refuse returns an error if we must not touch the machine with our VMID. It returns nil for our own machine and for an empty one. A
// machine in the state was ours when it was recorded, so only the mark of another owner counts against it.
func (w wanted) refuse(found *pve.Machine, isInState bool) error {
	remedy := "delete that VM if it holds nothing; if it does, put a state from before ours back with `em-infra state restore`, and " + w.moves()
	switch {
	case found.Empty, w.isProvenBy(found):
		return nil
	case w.isMarked() && hasMark(found):
		return fmt.Errorf("VM %d (%s) on %s belongs to %s: %s", int(w.VMID), found.Name, found.Node, ownerOf(found), remedy)
	case w.isMarked() && !isInState:
		return fmt.Errorf("VM %d (%s) on %s does not say in its description that this stack has made it: %s", int(w.VMID), found.Name, found.Node, remedy)
	default:
		return nil
	}
}

// moves returns what to do so that our machine gets another VMID.
func (w wanted) moves() string {
	if w.isSystem() {
		return "give ours another vmid in systems.yaml"
	}
	return "give our node another vmid in nodes.yaml"
}
