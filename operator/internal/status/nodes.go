package status

import (
	"context"
	"errors"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// askNodes asks each machine in the state. A node that does not answer is a finding, not an error.
func (s Sources) askNodes(ctx context.Context, r *Report) error {
	indices := make([]int, 0, len(r.Machines))
	for i := range r.Machines {
		if r.Machines[i].Known {
			indices = append(indices, i)
		}
	}
	health := s.Health()
	inParallel(indices, func(i int) error {
		machine := &r.Machines[i]
		seen, err := health.Observe(ctx, machine.Address.String())
		if err != nil {
			machine.Silent = errors.Is(err, nodeops.ErrSilent)
			seen = nodeops.Observation{Unmet: []string{err.Error()}}
		}
		switch {
		case errors.Is(err, nodeops.ErrForeign) && nodeops.InMaintenance(ctx, machine.Address.String()):
			seen.Stage, seen.Unmet = "maintenance", []string{"it is in maintenance mode and waits for its configuration: `em-infra up` applies it"}
		case errors.Is(err, nodeops.ErrUntimely) && s.hasEnded(r):
			seen.Unmet = []string{"the certificate of the talosconfig has ended: `em-infra up` renews it"}
		}
		machine.Node = &seen
		return nil
	})
	return nil
}

// hasEnded reports whether the certificate of the talosconfig is no longer valid by this computer's clock.
func (s Sources) hasEnded(r *Report) bool {
	certificate, err := talosCertificate(s.Talosconfig)
	return err == nil && certificate.Ends.Before(r.Time)
}
