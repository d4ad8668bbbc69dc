package nodeops

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// etcdDatabase is the data file of a member (etcd v3.6, server/storage/datadir).
const etcdDatabase = constants.EtcdDataPath + "/member/snap/db"

// SalvageEtcd returns the data of a control plane's etcd, whether etcd works or not: a snapshot, or the data file if etcd gives no snapshot, as
// without a quorum. The checksum of a snapshot is appended to the file. Without a quorum nothing is committed, so the file does not change while it
// is read. The caller has to check that the file is complete.
func (h Health) SalvageEtcd(ctx context.Context, node rolling.Node) (*EtcdSnapshot, error) {
	snapshot := &EtcdSnapshot{Take: func(to io.Writer) error { return h.copySnapshot(ctx, node, to) }}
	if refusal := begins(snapshot.Take); refusal != nil {
		snapshot.Take = func(to io.Writer) error {
			ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
			defer cancel()
			if err := h.copyDatabase(ctx, node, to); err != nil {
				return fmt.Errorf("%s gives neither a snapshot of etcd (%w) nor its data file: %w", node.Name, refusal, err)
			}
			return nil
		}
	}
	var err error
	snapshot.Talos, snapshot.Kubernetes, err = h.versionsOn(ctx, node)
	return snapshot, err
}

// copyDatabase copies the data file, and appends its checksum.
func (h Health) copyDatabase(ctx context.Context, node rolling.Node, to io.Writer) error {
	return unlessStalled(ctx, stallLimit, to, func(ctx context.Context, to io.Writer) error { return h.streamDatabase(ctx, node, to) })
}

func (h Health) streamDatabase(ctx context.Context, node rolling.Node, to io.Writer) error {
	address := node.Address.String()
	api, err := Connect(ctx, h.Talosconfig, address)
	if err != nil {
		return err
	}
	defer api.Close() //nolint:errcheck // the file is there
	stream, err := api.Copy(client.WithNode(ctx, address), etcdDatabase)
	if err != nil {
		return errors.New(answerOf(err))
	}
	defer stream.Close() //nolint:errcheck // the file is there
	packed, err := gzip.NewReader(stream)
	if err != nil {
		return errors.New(answerOf(err))
	}
	files := tar.NewReader(packed)
	if _, err := files.Next(); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, sum), files); err != nil {
		return err
	}
	_, err = to.Write(sum.Sum(nil))
	return err
}
