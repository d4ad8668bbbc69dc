package recovery

import (
	"context"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// Unjoined is a machine that was created but was never a member of its cluster, so that a restart cannot lose any data.
type Unjoined struct {
	// Name is the machine's name.
	Name string
	// VMID is the machine's VMID.
	VMID int
	// Configured reports whether its configuration was applied, so that it may be installing.
	Configured bool
}

// UnjoinedMachines returns the unjoined machines of a deployment that are to run, in its order. It omits a machine that was a member
// in an earlier state, because an older state may have been restored.
func UnjoinedMachines(deployment *apitype.DeploymentV3, past []Past) ([]Unjoined, error) {
	var found []Unjoined
	for machine := range state.Existing(*deployment, token.VirtualMachine) {
		if machine.ID == "" || len(machine.InitErrors) > 0 {
			continue
		}
		w, err := wantedOf(*machine)
		if err != nil {
			return nil, err
		}
		if !w.isToRun() || state.HasJoined(*deployment, machine.URN) || wasMember(machine, past) {
			continue
		}
		isConfigured := state.ConfigurationOf(*deployment, machine.URN) != nil
		found = append(found, Unjoined{Name: w.Name, VMID: int(w.VMID), Configured: isConfigured})
	}
	return found, nil
}

// wasMember reports whether the same machine, identified by its creation time, was a member in an earlier state.
func wasMember(machine *apitype.ResourceV3, past []Past) bool {
	for _, one := range past {
		for r := range state.Every(one.Deployment, machine.Type) {
			if r.URN == machine.URN && isSameTime(r.Created, machine.Created) && state.HasJoined(one.Deployment, r.URN) {
				return true
			}
		}
	}
	return false
}

// How long a machine may run without an answer before it counts as hanging. Talos answers from its ISO one minute after the start,
// three on a slow host; an installation, during which nothing answers, waits for an image.
const (
	bootPatience    = 5 * time.Minute
	installPatience = 15 * time.Minute
)

// Restarter is the access to Proxmox VE to restart a machine.
type Restarter interface {
	// UpFor returns the node of a machine and how long it has been running; 0 if it is off or does not exist.
	UpFor(ctx context.Context, vmid int) (node string, on time.Duration, err error)
	// Restart cuts a machine's power, starts it again, and returns when it runs.
	Restart(ctx context.Context, node string, vmid int) error
}

// Wake restarts a machine that hangs: it has been running for longer than it needs to boot, and silent reports that nothing answers
// at its address. done is a sentence about it; empty if nothing was done.
func (m Unjoined) Wake(ctx context.Context, host Restarter, silent func(context.Context) bool) (done string, err error) {
	node, on, err := host.UpFor(ctx, m.VMID)
	if err != nil {
		return "", err
	}
	patience := bootPatience
	if m.Configured {
		patience = installPatience
	}
	if on < patience || !silent(ctx) {
		return "", nil
	}
	if err := host.Restart(ctx, node, m.VMID); err != nil {
		return "", err
	}
	return fmt.Sprintf("VM %d (%s) has been on for %d min and does not answer; it was never a member, so it is restarted", m.VMID, m.Name, int(on.Minutes())), nil
}
