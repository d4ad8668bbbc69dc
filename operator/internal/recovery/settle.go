package recovery

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/pve"
)

// Note writes the results of the survey into the state and changes nothing on the host. It removes missing machines, records
// interrupted creations like failed ones, so that a later run finds them, and clears the pending operations. now is the time to
// record. It returns a sentence for each change, and whether the state changed.
func (s Survey) Note(deployment *apitype.DeploymentV3, now time.Time) (done []string, changed bool) {
	changed = len(s.ended)+len(s.begun)+len(s.lost)+len(deployment.PendingOperations) > 0
	for _, urn := range s.ended {
		Forget(deployment, urn)
	}
	for _, machine := range s.begun {
		machine.ID = resource.ID(strconv.Itoa(state.VMID(&machine)))
		machine.Outputs = machine.Inputs
		machine.InitErrors = []string{"its creation was cut off"}
		remember(deployment, machine, now)
	}
	for _, machine := range s.lost {
		remember(deployment, machine.adopted(now), now)
	}
	deployment.PendingOperations = nil
	return s.notes, changed
}

// Promise returns a sentence about what [Delete] would do.
func (r Remnant) Promise() string {
	return r.String() + " is deleted: its creation ended half way, and it never ran"
}

// Delete deletes what is left of a machine that never ran and removes it from the deployment. It first checks again that the machine never ran,
// because it may have been started before the consent. It returns what it has done.
func Delete(ctx context.Context, deployment *apitype.DeploymentV3, remnant Remnant, host Host) (done string, err error) {
	found, err := settle(ctx, wanted{Node: remnant.Node, VMID: float64(remnant.VMID)}, host)
	if err != nil {
		return "", err
	}
	if changed := changedSince(remnant, found); changed != "" {
		return "", fmt.Errorf("VM %d (%s) is not deleted, because %s since it was looked at: run up again", remnant.VMID, remnant.Name, changed)
	}
	if err := host.Delete(ctx, remnant.Node, remnant.VMID); err != nil {
		return "", err
	}
	Forget(deployment, remnant.URN)
	return fmt.Sprintf("creation of VM %d (%s) ended half way: what was left of it is deleted, it never ran", remnant.VMID, remnant.Name), nil
}

// changedSince returns how a remnant has changed since the survey; "" if it has not, or is gone.
func changedSince(remnant Remnant, found *pve.Machine) string {
	switch {
	case found == nil:
		return ""
	case found.Ran != "":
		return found.Ran
	case found.Node != remnant.Node:
		return "it was moved to " + found.Node
	case !found.Empty && found.Name != remnant.Name:
		return "it was named " + found.Name
	default:
		return ""
	}
}

// Start starts a machine that a failed change has left off. Machines that run or are to be off are left as they are. It returns what
// was done and what is left to do: after a failed reboot the host lists settings that are not yet in effect.
func Start(ctx context.Context, remnant Remnant, host Host) (done string, err error) {
	if !remnant.Idle && remnant.Unanswered {
		return fmt.Sprintf("VM %d (%s) runs as it was made: what it lacks is added", remnant.VMID, remnant.Name), nil
	}
	if !remnant.Idle {
		done = fmt.Sprintf("the last change of VM %d (%s) failed half way: it is tried again", remnant.VMID, remnant.Name)
		pending, err := host.Pending(ctx, remnant.Node, remnant.VMID)
		if err != nil || len(pending) == 0 {
			return done, err
		}
		return fmt.Sprintf("%s; %s of it is set and waits for a cold start: run `qm reboot %d` on %s when the node may be away for a minute",
			done, strings.Join(pending, ", "), remnant.VMID, remnant.Node), nil
	}
	if err := host.Start(ctx, remnant.Node, remnant.VMID); err != nil {
		return "", err
	}
	return fmt.Sprintf("VM %d (%s) is off since a change of it failed: it is started, and the change is tried again", remnant.VMID, remnant.Name), nil
}
