package operator

import (
	"context"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// wakeHanging restarts machines that hang since before they were members, at which every other run would wait as this one's
// predecessor did.
func (s *session) wakeHanging(ctx context.Context, exported *engine.Exported) error {
	past, err := s.state.Past()
	if err != nil {
		return err
	}
	machines, err := recovery.UnjoinedMachines(&exported.Deployment, past)
	if err != nil || len(machines) == 0 {
		return err
	}
	host, err := pve.NewHost(s.host)
	if err != nil {
		return refused(err)
	}
	for _, machine := range machines {
		address := s.addressOf(machine.VMID)
		if address == "" {
			continue // it is no longer in the inventory
		}
		done, err := machine.Wake(ctx, host, func(ctx context.Context) bool { return !nodeops.Listens(ctx, address) })
		if err != nil {
			return s.place.CompleteError(err)
		}
		if done != "" {
			s.recovered(done)
		}
	}
	return nil
}

// addressOf is where the Talos API of a machine is reached; "" for one that is not in the inventory.
func (s *session) addressOf(vmid int) string {
	for _, node := range s.inventory.Nodes {
		if node.VMID == vmid {
			return node.Address.String()
		}
	}
	return ""
}
