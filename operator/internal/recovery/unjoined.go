package recovery

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// Unjoined is a machine that was made and has never been a member of its cluster, so that there is nothing on it that could
// be lost by a restart.
type Unjoined struct {
	// Name of the machine.
	Name string
	// VMID of it.
	VMID int
	// Configured says that its configuration was applied, so that it may be installing.
	Configured bool
}

// UnjoinedMachines are those of a deployment that are to run, in its order. A machine that was a member in an earlier state
// is none of them: an older state may have been put back.
func UnjoinedMachines(deployment *apitype.DeploymentV3, past []Past) ([]Unjoined, error) {
	var found []Unjoined
	for _, machine := range deployment.Resources {
		if machine.Type != token.VirtualMachine || machine.ID == "" || machine.Delete || machine.PendingReplacement || len(machine.InitErrors) > 0 {
			continue
		}
		w, err := wantedOf(machine)
		if err != nil {
			return nil, err
		}
		if !w.isToRun() || hasJoined(deployment, machine) || wasMember(machine, past) {
			continue
		}
		found = append(found, Unjoined{Name: w.Name, VMID: int(w.VMID), Configured: hasOf(deployment, machine.URN, token.Configuration, "-configuration")})
	}
	return found, nil
}

func hasJoined(deployment *apitype.DeploymentV3, machine apitype.ResourceV3) bool {
	return hasOf(deployment, machine.URN, token.Command, "-membership")
}

// wasMember reports whether the same machine, by the time of its creation, was a member in an earlier state.
func wasMember(machine apitype.ResourceV3, past []Past) bool {
	for _, one := range past {
		for _, r := range one.Deployment.Resources {
			if r.URN == machine.URN && isSameTime(r.Created, machine.Created) && hasJoined(&one.Deployment, r) {
				return true
			}
		}
	}
	return false
}

// hasOf reports whether a deployment has the resource of a node's that is named by its suffix.
func hasOf(deployment *apitype.DeploymentV3, machine resource.URN, kind tokens.Type, suffix string) bool {
	name := strings.TrimSuffix(machine.Name(), vmSuffix) + suffix
	for _, r := range deployment.Resources {
		if r.Type == kind && r.URN.Name() == name && !r.Delete && !r.PendingReplacement {
			return true
		}
	}
	return false
}

// How long a machine may be on without a word before it is taken for one that hangs: Talos answers from its ISO a minute after
// a start, three on a slow host; an installation, during which nothing answers, waits for an image.
const (
	bootPatience    = 5 * time.Minute
	installPatience = 15 * time.Minute
)

// Restarter is what is asked of Proxmox VE to restart a machine.
type Restarter interface {
	// UpFor returns on which node a machine is, and for how long it has been on; 0 for one that is off or is not there.
	UpFor(ctx context.Context, vmid int) (node string, on time.Duration, err error)
	// Restart cuts a machine's power, starts it again, and returns when it is on.
	Restart(ctx context.Context, node string, vmid int) error
}

// Wake restarts a machine that hangs: it has been on for longer than it needs to boot, and silent reports that nobody answers
// at its address. done says so; it is empty for a machine that is left alone.
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
