package talos

import (
	"context"
	"errors"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errNoPrevious is returned for a rollback of a node that was never upgraded
// (v1alpha1/bootloader/grub/revert.go; the label is always the empty one).
var errNoPrevious = errors.New(`cannot rollback to "", label does not exist`)

// Rollback exchanges the releases in the two slots of the disk and reboots, without draining and without a look at etcd. The
// answer has no actor.
func (m *machinedServer) Rollback(context.Context, *machine.RollbackRequest) (*machine.RollbackResponse, error) {
	installed := m.system.installed()
	if installed == nil {
		return nil, status.Error(codes.FailedPrecondition, "system disk not found")
	}

	if installed.read().Previous == nil {
		return nil, errNoPrevious
	}

	if err := installed.change(exchangeReleases); err != nil {
		return nil, err
	}

	if err := m.system.request(command{sequence: sequenceReboot}); err != nil {
		return nil, err
	}

	return &machine.RollbackResponse{Messages: []*machine.Rollback{{}}}, nil
}

func exchangeReleases(c *contents) {
	former := c.Release
	c.Release, c.Previous = *c.Previous, &former
}

// tryRelease is the point at which the first boot of another release fails, if a fault is set.
func (s *system) tryRelease(ctx context.Context) error {
	if d := s.installed(); d == nil || !d.read().Untried {
		return nil
	}

	return s.vm.step(ctx, StepTry, 0)
}

// keepRelease makes an upgrade final, because the node runs and is ready (controllers/runtime/drop_upgrade_fallback.go).
func (s *system) keepRelease() error {
	if d := s.installed(); d != nil && d.read().Untried {
		return d.change(func(c *contents) { c.Untried = false })
	}

	return nil
}

// revertRelease takes an upgrade back after a boot of its release that failed (internal/app/machined/revert.go).
func (m *vm) revertRelease() error {
	d := m.fleet.systemDisk(m.facts())
	if d == nil || !d.read().Untried {
		return nil
	}

	return d.change(func(c *contents) {
		exchangeReleases(c)
		c.Untried = false
	})
}
