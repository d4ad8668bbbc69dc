package talos

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// Upgrade writes another release to the disk and reboots into it, or stages it for the next boot. On a control plane etcd
// must tolerate the upgrade, unless the caller forces it.
func (m *machinedServer) Upgrade(_ context.Context, in *machine.UpgradeRequest) (*machine.UpgradeResponse, error) {
	actor, err := m.actor()
	if err != nil {
		return nil, err
	}

	release, err := m.system.fleet.config.Installer(in.GetImage())
	if err != nil {
		return nil, fmt.Errorf("error validating installer image %q: %w", in.GetImage(), err)
	}

	if m.system.config().Machine().Type().IsControlPlane() && !in.GetForce() {
		if err := m.system.etcdBearsUpgrade(); err != nil {
			return nil, fmt.Errorf("error validating etcd for upgrade: %w", err)
		}
	}

	c := command{sequence: sequenceUpgrade, actor: actor, upgrade: &release}

	if in.GetStage() {
		c = command{sequence: sequenceReboot, actor: actor}
		if err := m.system.installed().change(func(c *contents) { c.Staged = &release }); err != nil {
			return nil, err
		}
	}

	if err := m.system.request(c); err != nil {
		return nil, err
	}

	return &machine.UpgradeResponse{Messages: []*machine.Upgrade{{Ack: "Upgrade request received", ActorId: actor}}}, nil
}

// etcdBearsUpgrade applies the rules of Talos' internal/pkg/etcd (ValidateForUpgrade).
func (s *system) etcdBearsUpgrade() error {
	data := s.etcdData()

	members, err := s.fleet.etcd.Members(data.Cluster)
	if err != nil {
		return err
	}

	if len(members) == 2 {
		return fmt.Errorf("etcd member count(%d) is insufficient to maintain quorum if upgrade commences", len(members))
	}

	for _, member := range members {
		if member.Name == "" {
			return fmt.Errorf("etcd member %s is not started, all members must be running to perform an upgrade", etcd.FormatID(member.ID))
		}

		if _, err := s.fleet.etcd.Status(etcd.Data{Cluster: data.Cluster, Member: member.ID}); err != nil {
			return fmt.Errorf("etcd member %s is not healthy; all members must be healthy to perform an upgrade: %w",
				etcd.FormatID(member.ID), context.DeadlineExceeded)
		}
	}

	return nil
}

// writeUpgrade writes the new release to the disk.
func writeUpgrade(ctx context.Context, s *system, c command) error {
	return s.writeRelease(ctx, *c.upgrade)
}

func (s *system) writeRelease(ctx context.Context, release Release) error {
	if err := s.vm.step(ctx, StepInstall, s.fleet.config.Durations.Install); err != nil {
		return err
	}

	return s.installed().change(func(c *contents) {
		former := c.Release
		c.Previous, c.Release, c.Staged = &former, release, nil
	})
}

// installStaged installs a staged upgrade. A reboot follows. The mark is removed first, so that a failing installation is not
// retried at every boot (v1alpha1_state.go, probeMeta).
func (s *system) installStaged(ctx context.Context, release Release) error {
	if err := s.installed().change(func(c *contents) { c.Staged = nil }); err != nil {
		return err
	}

	s.vm.setStage(StageInstalling)

	if err := s.writeRelease(ctx, release); err != nil {
		return fmt.Errorf("staged upgrade: %w", err)
	}

	s.vm.setStage(StageRebooting)

	return nil
}

// errNoPrevious is returned for a rollback of a node that was never upgraded.
var errNoPrevious = errors.New("previous entry not found")

// Rollback returns to the release before the last upgrade and reboots.
func (m *machinedServer) Rollback(context.Context, *machine.RollbackRequest) (*machine.RollbackResponse, error) {
	installed := m.system.installed()
	if installed == nil {
		return nil, status.Error(codes.FailedPrecondition, "system disk not found")
	}

	if installed.read().Previous == nil {
		return nil, errNoPrevious
	}

	if err := installed.change(func(c *contents) {
		former := c.Release
		c.Release, c.Previous = *c.Previous, &former
	}); err != nil {
		return nil, err
	}

	if err := m.system.request(command{sequence: sequenceReboot}); err != nil {
		return nil, err
	}

	return &machine.RollbackResponse{Messages: []*machine.Rollback{{}}}, nil
}
