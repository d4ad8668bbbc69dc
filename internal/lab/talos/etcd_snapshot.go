package talos

import (
	"errors"
	"fmt"
	"io"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// snapshotChunk is the size of a message (pkg/chunker/stream/stream.go).
const snapshotChunk = 1024

// EtcdSnapshot streams the data of this node's member (v1alpha1_server.go, EtcdSnapshot).
func (m *machinedServer) EtcdSnapshot(_ *machine.EtcdSnapshotRequest, stream machine.MachineService_EtcdSnapshotServer) error {
	if err := m.needControlPlane("etcd snapshot"); err != nil {
		return err
	}

	data, err := m.system.untilOwnEtcdListens(stream.Context())
	if err != nil {
		return fmt.Errorf("failed reading etcd snapshot: %w", err)
	}

	member, err := m.system.fleet.etcd.Status(data)
	switch {
	case err != nil:
		return fmt.Errorf("failed reading etcd snapshot: %w", err)
	case member.Leader == 0:
		return fmt.Errorf("failed reading etcd snapshot: %w", etcd.ErrNoLeader)
	}

	snapshot, err := m.system.fleet.config.Kubernetes.EtcdSnapshot(stream.Context(), etcd.FormatID(data.Cluster))
	if err != nil {
		return fmt.Errorf("failed reading etcd snapshot: %w", err)
	}
	defer snapshot.Close() //nolint:errcheck // it was read to its end

	chunk := make([]byte, snapshotChunk)

	for {
		n, err := snapshot.Read(chunk)
		if n > 0 {
			if err := stream.Send(&common.Data{Bytes: chunk[:n]}); err != nil {
				return err
			}
		}

		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}
	}
}
