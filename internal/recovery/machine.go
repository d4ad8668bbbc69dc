package recovery

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/ownership"
)

// Host is what recovery asks of Proxmox VE.
type Host interface {
	// Settle waits until no task works on a machine and no lock is on it, and returns it; nil when there is none.
	Settle(ctx context.Context, node string, vmid int) (*Machine, error)
	// Look returns a machine as it is now, on whichever node; nil when there is none that may be seen.
	Look(ctx context.Context, vmid int) (*Machine, error)
	// Start starts a machine that is off, and returns when it is on.
	Start(ctx context.Context, node string, vmid int) error
	// Pending are the settings of a machine that wait for its next cold start, sorted.
	Pending(ctx context.Context, node string, vmid int) ([]string, error)
	// Delete deletes a machine that is off.
	Delete(ctx context.Context, node string, vmid int) error
}

// Machine is what the host says of a virtual machine.
type Machine struct {
	// Node that it stands on.
	Node string
	// Owner is whose it is by its description; the zero Owner where that says nothing.
	Owner ownership.Owner
	// Birth is the UUID that its firmware shows, by which the program marks each machine that it makes.
	Birth string
	// Name in Proxmox VE; that of an empty machine is "".
	Name string
	// Empty says that a task has only begun to make it: it has no name yet, no disk and no other hardware.
	Empty bool
	// Lock is what the task does that holds it, such as clone; "" for none.
	Lock string
	// Running says that it is on.
	Running bool
	// Ran says by what the host knows that it ran since it was made, or cannot rule it out, as in "it was started"; "" for
	// nothing. A host forgets starts: "" does not say that it never ran.
	Ran string
}

// wanted are the inputs of a machine in the state.
type wanted struct {
	Node string  `json:"nodeName"`
	VMID float64 `json:"vmId"`
	Name string  `json:"name"`
	// Description says whose it is to be.
	Description string `json:"description"`
	SMBIOS      struct {
		// UUID is the mark of its birth.
		UUID string `json:"uuid"`
	} `json:"smbios"`
	// Started is whether the machine is to be on. Default: true, as the provider's.
	Started *bool `json:"started"`
	// Template says that the machine is one to clone from, which is never started.
	Template bool `json:"template"`
	// Clone says where the template stands.
	Clone struct {
		Node string `json:"nodeName"`
	} `json:"clone"`
}

func wantedOf(machine apitype.ResourceV3) (w wanted, err error) {
	inputs, err := json.Marshal(machine.Inputs)
	if err != nil {
		return w, err
	}
	if err := json.Unmarshal(inputs, &w); err != nil {
		return w, fmt.Errorf("unfinished creation of %s: %w", machine.URN.Name(), err)
	}
	if w.Node == "" || w.VMID == 0 {
		return w, fmt.Errorf("unfinished creation of %s: the state does not say which VM on which host: restore the state from a backup", machine.URN.Name())
	}
	return w, nil
}

// isToRun reports whether the machine is to be on.
func (w wanted) isToRun() bool { return !w.Template && (w.Started == nil || *w.Started) }

// settle waits for what is left of a machine. A clone for another host is made on the template's, and moved when it is done
// (qemu-server, API2/Qemu.pm, clone_vm); one that somebody moved since is elsewhere.
func settle(ctx context.Context, w wanted, host Host) (*Machine, error) {
	vmid := int(w.VMID)
	if template := w.Clone.Node; template != "" && template != w.Node {
		machine, err := host.Settle(ctx, template, vmid)
		if err != nil || machine != nil {
			return machine, err
		}
	}
	machine, err := host.Settle(ctx, w.Node, vmid)
	if err != nil || machine != nil {
		return machine, err
	}
	elsewhere, err := host.Look(ctx, vmid)
	if err != nil || elsewhere == nil {
		return nil, err
	}
	return host.Settle(ctx, elsewhere.Node, vmid)
}
