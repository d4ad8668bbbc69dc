package talos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// resetOptions are what a reset wipes and what the machine does afterwards.
type resetOptions struct {
	graceful     bool
	reboot       bool
	controlPlane bool
	// system wipes the whole system disk, unless partitions are named.
	system     bool
	partitions []string
	// user are other disks to wipe, by device path.
	user []string
}

// Reset wipes the node. The checks and their texts are Talos' own, including errors without a code.
func (m *machinedServer) Reset(_ context.Context, in *machine.ResetRequest) (*machine.ResetResponse, error) {
	actor, err := m.actor()
	if err != nil {
		return nil, err
	}

	options, err := m.system.resetOptions(in)
	if err != nil {
		return nil, err
	}

	if err := m.system.request(command{sequence: sequenceReset, actor: actor, reset: options}); err != nil {
		return nil, err
	}

	return &machine.ResetResponse{Messages: []*machine.Reset{{ActorId: actor}}}, nil
}

func (s *system) resetOptions(in *machine.ResetRequest) (*resetOptions, error) {
	options := &resetOptions{
		graceful:     in.GetGraceful(),
		reboot:       in.GetReboot(),
		controlPlane: s.config().Machine().Type().IsControlPlane(),
		system:       in.GetMode() != machine.ResetRequest_USER_DISKS,
	}

	if len(in.GetUserDisksToWipe()) > 0 && in.GetMode() == machine.ResetRequest_SYSTEM_DISK {
		return nil, errors.New("reset failed: invalid input, wipe mode SYSTEM_DISK doesn't support UserDisksToWipe parameter")
	}

	for _, path := range in.GetUserDisksToWipe() {
		if err := s.checkUserDisk(path); err != nil {
			return nil, err
		}

		options.user = append(options.user, path)
	}

	if len(in.GetSystemPartitionsToWipe()) > 0 && in.GetMode() == machine.ResetRequest_USER_DISKS {
		return nil, errors.New("reset failed: invalid input, wipe mode USER_DISKS doesn't support SystemPartitionsToWipe parameter")
	}

	for _, spec := range in.GetSystemPartitionsToWipe() {
		if !slices.Contains(systemVolumeLabels(), spec.GetLabel()) {
			return nil, fmt.Errorf("failed to get volume status with label %q: "+
				"resource VolumeStatuses.block.talos.dev(runtime/%s@undefined) doesn't exist", spec.GetLabel(), spec.GetLabel())
		}

		if spec.GetWipe() {
			options.partitions = append(options.partitions, spec.GetLabel())
		}
	}

	return options, nil
}

func (s *system) checkUserDisk(path string) error {
	i := slices.IndexFunc(s.blockDevices(), func(d device) bool { return d.path() == path })

	switch installed := s.installed(); {
	case i < 0:
		return fmt.Errorf("reset user disk failed: device %s wasn't found", path)
	case installed != nil && s.blockDevices()[i].ID == installed.read().ID:
		return fmt.Errorf("reset user disk failed: device %s is the system disk", path)
	default:
		return nil
	}
}

// wipe erases the data that a reset names.
func wipe(_ context.Context, s *system, c command) error {
	var errs []error

	for _, d := range s.blockDevices() {
		if slices.Contains(c.reset.user, d.path()) {
			errs = append(errs, s.fleet.erase(d.ID))
		}
	}

	installed := s.installed()

	switch {
	case !c.reset.system || installed == nil:
	case len(c.reset.partitions) == 0:
		errs = append(errs, s.fleet.erase(installed.read().ID))
	default:
		errs = append(errs, s.wipePartitions(installed, c.reset.partitions))
	}

	return errors.Join(errs...)
}

func (s *system) wipePartitions(installed *disk, labels []string) error {
	var errs []error

	for _, label := range labels {
		switch label {
		case constants.StatePartitionLabel:
			errs = append(errs, installed.wipeState())
		case constants.EphemeralPartitionLabel:
			lost := installed.read().Etcd
			errs = append(errs, installed.change(func(c *contents) { c.Etcd = etcd.Data{} }),
				remove(s.fleet.store.uploadFile(installed.read().ID)), s.fleet.forgetEtcd(lost))
		case constants.MetaPartitionLabel:
			errs = append(errs, installed.change(func(c *contents) { c.Staged = nil }))
		}
	}

	return errors.Join(errs...)
}

// leaveEtcd removes the node from its etcd cluster and empties its data directory. If the cluster would lose its quorum, it
// refuses. If it is only unhealthy, leaveEtcd retries when that changes (internal/pkg/etcd, LeaveCluster).
func (s *system) leaveEtcd(ctx context.Context) error {
	data := s.etcdData()
	if data.Empty() {
		return nil
	}

	for {
		changed := s.fleet.etcd.Changed()

		err := s.fleet.etcd.Remove(data.Cluster, data.Member)
		if err == nil || errors.Is(err, etcd.ErrMemberNotFound) {
			break
		}

		if !errors.Is(err, etcd.ErrUnhealthy) {
			return fmt.Errorf("failed to leave cluster: failed to remove member %d: %w", data.Member, err)
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	return errors.Join(
		s.stopEtcd(),
		s.fleet.saveEtcd(),
		s.installed().change(func(c *contents) { c.Etcd = etcd.Data{} }),
		s.fleet.forgetEtcd(data),
	)
}
