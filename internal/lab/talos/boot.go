package talos

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// outcome is how a boot ends.
type outcome int

const (
	outcomeReboot outcome = iota
	outcomeOff
)

// boot is one boot from the firmware to the end of the system. An error is a boot that failed, which Talos answers with
// a reboot; when the power was cut the result means nothing.
func (m *vm) boot(ctx context.Context, wait time.Duration, resume bool) (outcome, error) {
	if err := m.step(ctx, StepBoot, wait); err != nil {
		return outcomeReboot, err
	}

	m.setStage(StageBooting)

	if err := m.findDisk(); err != nil {
		return outcomeReboot, err
	}

	release, found, err := m.bootMedium()
	if err != nil {
		return outcomeReboot, err
	}

	if !found {
		m.setStage(StageUnbootable)
		<-ctx.Done()

		return outcomeReboot, ctx.Err()
	}

	s, err := m.start(ctx, release, resume)
	if err != nil {
		return outcomeReboot, err
	}

	m.setSystem(s)
	next, err := s.run(ctx)
	m.setSystem(nil)

	return next, errors.Join(err, s.stop(ctx))
}

// bootMedium is what the firmware finds to boot: the disk that Talos is installed on before the ISO.
func (m *vm) bootMedium() (release Release, found bool, err error) {
	hardware := m.facts()

	if installed := m.fleet.systemDisk(hardware); installed != nil {
		return installed.read().Release.clone(), true, nil
	}

	if hardware.ISO == "" {
		return Release{}, false, nil
	}

	release, err = m.fleet.config.Installer(hardware.ISO)
	if err != nil {
		return Release{}, false, fmt.Errorf("boot from %s: %w", hardware.ISO, err)
	}

	return release, true, nil
}

// start brings up the system with a new boot identifier, or with the former one when it only goes on.
func (m *vm) start(ctx context.Context, release Release, resume bool) (*system, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if !resume || m.bootID == "" {
		id, err := randomUUID(m.fleet.config.Rand)
		if err != nil {
			return nil, err
		}

		m.bootID = id
		if err := m.save(); err != nil {
			return nil, err
		}
	}

	return newSystem(ctx, m, m.hardware, release, m.bootID)
}
