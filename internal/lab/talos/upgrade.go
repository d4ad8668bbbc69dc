package talos

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// Upgrade pulls an installer image, writes its release to the disk and reboots into it, or stages it for the next boot. On a
// control plane etcd must tolerate the upgrade, unless the caller forces it (server/v1alpha1/v1alpha1_server.go).
func (m *machinedServer) Upgrade(ctx context.Context, in *machine.UpgradeRequest) (*machine.UpgradeResponse, error) {
	actor, err := m.actor()
	if err != nil {
		return nil, err
	}

	release, err := m.system.validateInstaller(ctx, in.GetImage())
	if err != nil {
		return nil, fmt.Errorf("error validating installer image %q: %w", in.GetImage(), err)
	}

	if m.system.config().Machine().Type().IsControlPlane() && !in.GetForce() {
		if err := m.system.checkEtcd(ctx); err != nil {
			return nil, err
		}
	}

	c := command{sequence: sequenceUpgrade, actor: actor, upgrade: &release}

	if in.GetStage() {
		c.sequence = sequenceStageUpgrade
		if err := m.system.installed().change(func(c *contents) { c.Staged = &release }); err != nil {
			return nil, err
		}
	}

	if err := m.system.request(c); err != nil {
		return nil, err
	}

	return &machine.UpgradeResponse{Messages: []*machine.Upgrade{{Ack: "Upgrade request received", ActorId: actor}}}, nil
}

// validateInstaller pulls an installer image, unless this boot has pulled it before (internal/pkg/install/pull.go).
func (s *system) validateInstaller(ctx context.Context, image string) (Release, error) {
	release, err := s.fleet.config.Installer(image)
	if err != nil {
		return Release{}, unresolved(image, err)
	}

	return release, s.ownImages.pull(ctx, s, image)
}

// checkEtcd checks under the lock of all upgrades that etcd tolerates the upgrade of one member. The lock ends with the checks.
func (s *system) checkEtcd(ctx context.Context) error {
	if err := s.vm.step(ctx, StepEtcdLock, 0); err != nil {
		return fmt.Errorf("failed to acquire upgrade mutex: error trying to lock etcd upgrade mutex: %w", err)
	}

	if err := s.etcdBearsUpgrade(); err != nil {
		return fmt.Errorf("error validating etcd for upgrade: %w", err)
	}

	return nil
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

// errInstaller is the error of an installer that ends with another code than 0. Its cause is in the kernel's log only
// (internal/pkg/install/install.go).
var errInstaller = errors.New(`task "upgrade" failed: exit code 1`)

// writeUpgrade runs the installer of the new release. It refuses a release that Talos cannot be upgraded to from this one.
func writeUpgrade(ctx context.Context, s *system, c command) error {
	if err := upgradeableFrom(s.release.Version, c.upgrade.Version); err != nil {
		s.vm.note(StepUpgrade, err, s.fleet.config.Now())
		s.kernel.printk("error: "+err.Error(), s.fleet.config.Now())

		return errInstaller
	}

	return s.writeRelease(ctx, *c.upgrade)
}

// writeRelease writes a release to the disk. Its image was pulled before.
func (s *system) writeRelease(ctx context.Context, release Release) error {
	durations := s.fleet.config.Durations
	if err := s.vm.step(ctx, StepUpgrade, max(0, durations.Install-durations.Pull)); err != nil {
		return err
	}

	return s.installed().change(func(c *contents) {
		former := c.Release
		c.Previous, c.Release, c.Staged, c.Untried = &former, release, nil, true
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
