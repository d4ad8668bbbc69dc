package recovery

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/pve"
)

// Host is what recovery asks of Proxmox VE.
type Host interface {
	// Settle waits until no task works on a machine and no lock is on it, and returns it; nil when there is none.
	Settle(ctx context.Context, node string, vmid int) (*pve.Machine, error)
	// Look returns a machine as it is now, on whichever node; nil when there is none that may be seen.
	Look(ctx context.Context, vmid int) (*pve.Machine, error)
	// Start starts a machine that is off, and returns when it is on.
	Start(ctx context.Context, node string, vmid int) error
	// Pending are the settings of a machine that wait for its next cold start, sorted.
	Pending(ctx context.Context, node string, vmid int) ([]string, error)
	// Delete deletes a machine that is off.
	Delete(ctx context.Context, node string, vmid int) error
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
func settle(ctx context.Context, w wanted, host Host) (*pve.Machine, error) {
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
