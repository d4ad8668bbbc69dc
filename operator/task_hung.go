package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// machinesAtRest is recoverMachines, which a task may keep from its end: one that hangs is stopped where somebody says so, and
// then it begins anew.
func (s *session) machinesAtRest(ctx context.Context, exported *engine.Exported) (used []recovery.Remnant, settled *engine.Exported, err error) {
	for {
		if err = s.awaitMade(ctx); err == nil {
			used, err = s.recoverMachines(ctx, exported)
		}
		var hung *pve.HungError
		if !errors.As(err, &hung) {
			return used, exported, s.place.CompleteError(err)
		}
		if err := s.stopHung(ctx, hung); err != nil {
			return nil, nil, err
		}
		if exported, err = s.state.Seen(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// awaitMade waits for machines of the inventory that somebody makes just now.
func (s *session) awaitMade(ctx context.Context) error {
	if s.inventory == nil {
		return nil
	}
	host, err := s.hostThatReports()
	if err != nil {
		return err
	}
	vmids := make([]int, len(s.inventory.Nodes))
	for i, node := range s.inventory.Nodes {
		vmids[i] = node.VMID
	}
	return host.AwaitMade(ctx, vmids)
}

// stopHung stops a task that hangs when a person says so. The error names the command by which that can be done
// later.
func (s *session) stopHung(ctx context.Context, hung *pve.HungError) error {
	left := fmt.Errorf("%s: stop it with `em-infra task stop %d %s`, or see in Proxmox VE why it hangs and wait for it; then run up again",
		hung.What(), hung.Machine, s.place.Stack)
	if s.consent == "" || s.options.Person == nil {
		return left
	}
	agreed, err := s.options.Person.Confirm(ctx, Question{
		About: hung.What(), Text: "Type stop to have it stopped, and anything else to leave it: ", Yes: "stop",
	})
	switch {
	case err != nil:
		return refused(err)
	case !agreed:
		return left
	}
	host, err := pve.NewHost(s.host)
	if err != nil {
		return refused(err)
	}
	return host.StopTask(ctx, hung.Task)
}
