package talos

import (
	"context"
	"errors"
	"time"
)

// outcome is how a boot ends.
type outcome int

const (
	outcomeReboot outcome = iota
	outcomeOff
)

// boot runs one boot from the firmware to the end of the system. An error is a failed boot, after which Talos reboots. If the
// power was cut, the result is meaningless.
func (m *vm) boot(ctx context.Context, wait time.Duration, resume bool) (outcome, error) {
	if err := m.step(ctx, StepBoot, wait); err != nil {
		return outcomeReboot, err
	}

	m.setStage(StageBooting)

	if err := m.findDisk(); err != nil {
		return outcomeReboot, err
	}

	found, ok, err := m.bootMedium()
	if err != nil {
		return outcomeReboot, err
	}

	if !ok {
		m.setStage(StageUnbootable)
		<-ctx.Done()

		return outcomeReboot, ctx.Err()
	}

	s, err := m.start(ctx, found, resume)
	if err != nil {
		return outcomeReboot, err
	}

	next, err := s.run(ctx)
	m.setSystem(nil)

	return next, errors.Join(err, s.stop(ctx))
}

// start starts the machine's system with a new boot ID, or with the former one when it resumes.
func (m *vm) start(ctx context.Context, booted medium, resume bool) (*system, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if !resume || m.bootID == "" {
		id, err := randomUUID(m.fleet.config.Rand)
		if err != nil {
			return nil, err
		}

		m.bootID, m.boots = id, m.boots+1
		if err := m.save(); err != nil {
			return nil, err
		}
	}

	s, err := newSystem(ctx, m, booted)
	m.system = s

	return s, err
}
