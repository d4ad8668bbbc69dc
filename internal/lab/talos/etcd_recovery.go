package talos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// etcdRecovery is a start of etcd from the snapshot that was uploaded.
type etcdRecovery struct{ skipHashCheck bool }

// EtcdRecover takes a snapshot, from which a bootstrap can recover (v1alpha1_server.go, EtcdRecover). It does not check the content.
func (m *machinedServer) EtcdRecover(stream machine.MachineService_EtcdRecoverServer) error {
	if !m.system.hasEphemeral() {
		return status.Error(codes.FailedPrecondition, "etcd service is not ready for recovery yet")
	}

	if err := m.needControlPlane("etcd recover"); err != nil {
		return err
	}

	if err := m.system.receiveSnapshot(stream); err != nil {
		return err
	}

	return stream.SendAndClose(&machine.EtcdRecoverResponse{Messages: []*machine.EtcdRecover{{}}})
}

// hasEphemeral reports whether EPHEMERAL, which contains /var/lib, is mounted.
func (s *system) hasEphemeral() bool {
	s.provisioning.Lock()
	defer s.provisioning.Unlock()

	return s.volumes[constants.EphemeralPartitionLabel].Phase == block.VolumePhaseReady
}

// receiveSnapshot writes the snapshot. One that breaks off is removed, as by Talos.
func (s *system) receiveSnapshot(stream machine.MachineService_EtcdRecoverServer) (err error) {
	path := s.fleet.store.uploadFile(s.installed().read().ID)

	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("error creating etcd recovery snapshot: %w", err)
	}

	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, remove(path))
		}
	}()

	for {
		message, err := stream.Recv()

		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}

		if _, err := file.Write(message.GetBytes()); err != nil {
			return fmt.Errorf("error writing snapshot: %w", err)
		}
	}
}

// restartEtcd stops the etcd service, which waits or has failed, and starts it again (bootstrap of services/etcd.go, BootstrapEtcd).
func (s *system) restartEtcd(cfg config.Provider, recovery *etcdRecovery) error {
	if err := s.stopEtcd(); err != nil {
		return err
	}

	s.startEtcd(cfg, recovery)

	return nil
}

// endFailedEtcd stops an etcd service that has failed, so that it can start again.
func (s *system) endFailedEtcd() error {
	if state, _ := s.services.State("etcd"); state != service.Failed {
		return nil
	}

	return s.stopEtcd()
}

// recoverEtcd makes the data of a new etcd cluster with this node as its only member (services/etcd.go, recoverFromSnapshot).
func (s *system) recoverEtcd(ctx context.Context, cfg config.Provider, recovery etcdRecovery) error {
	upload := s.fleet.store.uploadFile(s.installed().read().ID)
	if _, err := os.Stat(upload); err != nil {
		return fmt.Errorf("error verifying snapshot: stat %s: no such file or directory", constants.EtcdRecoverySnapshotPath)
	}

	n, err := s.network(cfg)
	if err != nil {
		return err
	}

	data := s.fleet.etcd.Bootstrap(n.hostname, s.etcdAddress(cfg, n))

	if err := s.fleet.config.Kubernetes.EtcdRestore(ctx, etcd.FormatID(data.Cluster), upload, recovery.skipHashCheck); err != nil {
		s.fleet.etcd.Forget(data.Cluster)

		return fmt.Errorf("error recovering from the snapshot: %w", err)
	}

	_, err = s.claimEtcd(func() (etcd.Data, error) {
		s.etcd.born = true

		return data, nil
	})
	if err != nil {
		s.fleet.etcd.Forget(data.Cluster)

		return err
	}

	return remove(upload)
}
