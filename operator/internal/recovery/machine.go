package recovery

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/pve"
)

// Host is the access to Proxmox VE.
type Host interface {
	// Settle waits until a machine has neither a task nor a lock, and returns it; nil if it does not exist.
	Settle(ctx context.Context, node string, vmid int) (*pve.Machine, error)
	// Look returns a machine as it is now, on any node; nil if none is visible.
	Look(ctx context.Context, vmid int) (*pve.Machine, error)
	// SettleContainer waits until no task creates a container, on any node, and returns it; nil if it does not exist.
	SettleContainer(ctx context.Context, vmid int) (*pve.Machine, error)
	// LookContainer returns a container as it is now, on any node; nil if none is visible.
	LookContainer(ctx context.Context, vmid int) (*pve.Machine, error)
	// Start starts a machine that is off, and returns when it runs.
	Start(ctx context.Context, node string, vmid int) error
	// Pending returns the settings of a machine that need a cold start to take effect, sorted.
	Pending(ctx context.Context, node string, vmid int) ([]string, error)
	// Delete deletes a machine that is off.
	Delete(ctx context.Context, node string, vmid int) error
}

// wanted are the inputs of a machine in the state.
type wanted struct {
	Node string  `json:"nodeName"`
	VMID float64 `json:"vmId"`
	Name string  `json:"name"`
	// Description names the machine's owner.
	Description string `json:"description"`
	SMBIOS      struct {
		// UUID is the birth identifier.
		UUID string `json:"uuid"`
	} `json:"smbios"`
	// Started reports whether the machine is to run. Default: true, as in the provider.
	Started *bool `json:"started"`
	// Template reports whether the machine is a template, which is never started.
	Template bool `json:"template"`
	// Clone is the source of the clone.
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

// isToRun reports whether the machine is to run.
func (w wanted) isToRun() bool { return !w.Template && (w.Started == nil || *w.Started) }

// settle waits for what is left of a machine. A clone for another host is created on the template's host and moved afterwards
// (qemu-server, API2/Qemu.pm, clone_vm). A machine that was migrated since is found on its present node.
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
