package talos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/block/blockhelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// install writes Talos and the configuration to the disk that the configuration names. A reboot follows.
func (s *system) install(ctx context.Context, cfg config.Provider) error {
	s.vm.setStage(StageInstalling)

	if err := errors.Join(
		s.events.Publish("", &machine.SequenceEvent{Sequence: string(sequenceInstall), Action: machine.SequenceEvent_START}),
		s.enterStage(runtime.MachineStageInstalling),
	); err != nil {
		return err
	}

	target, err := s.installTarget(ctx, cfg)
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}

	release, err := s.pull(cfg.Machine().Install().Image())
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}

	if err := s.vm.step(ctx, StepInstall, s.fleet.config.Durations.Install); err != nil {
		return fmt.Errorf("install: %w", err)
	}

	if err := s.writeSystem(cfg, target, release); err != nil {
		return fmt.Errorf("install to %s: %w", target.path(), err)
	}

	s.vm.setStage(StageRebooting)

	return s.enterStage(runtime.MachineStageRebooting)
}

// pull returns the release of an installer image. An empty image means the running release.
func (s *system) pull(image string) (Release, error) {
	if image == "" {
		return s.release, nil
	}

	release, err := s.fleet.config.Installer(image)
	if err != nil {
		return Release{}, fmt.Errorf("pull installer image %q: %w", image, err)
	}

	return release, nil
}

func (s *system) writeSystem(cfg config.Provider, target device, release Release) error {
	raw, err := cfg.Bytes()
	if err != nil {
		return fmt.Errorf("encode the machine configuration: %w", err)
	}

	identity, err := randomNodeID(s.fleet.config.Rand)
	if err != nil {
		return err
	}

	_, err = s.fleet.format(contents{
		ID: target.ID, Partitions: systemPartitions(release.Version, target.Bytes),
		Release: release, Config: raw, Identity: identity,
	})

	return err
}

// installTarget returns the installation disk. The selector takes precedence over the name, as in Talos (the Install task in
// v1alpha1_sequencer_tasks.go). The disk must exist and have room for the partitions.
func (s *system) installTarget(ctx context.Context, cfg config.Provider) (device, error) {
	path := cfg.Machine().Install().Disk()

	selector, err := cfg.Machine().Install().DiskMatchExpression()
	if err != nil {
		return device{}, fmt.Errorf("disk selector: %w", err)
	}

	if selector != nil {
		matches, err := blockhelpers.MatchDisks(ctx, s.resources, selector)
		if err != nil {
			return device{}, fmt.Errorf("disk selector: %w", err)
		}

		if len(matches) == 0 {
			return device{}, fmt.Errorf("no disks matched the expression: %s", selector)
		}

		path = matches[0].TypedSpec().DevPath
	}

	for _, d := range s.blockDevices() {
		if d.path() != path && !slices.Contains(d.symlinks(), path) {
			continue
		}

		if need := minimumBytes(s.release.Version); d.Bytes < need {
			return device{}, fmt.Errorf("disk %s has %d MiB, Talos needs %d MiB", path, d.Bytes>>20, need>>20)
		}

		return d, nil
	}

	return device{}, fmt.Errorf("lstat %s: no such file or directory", path)
}
