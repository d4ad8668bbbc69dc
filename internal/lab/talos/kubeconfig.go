package talos

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/kubeconfig"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Kubeconfig sends the cluster's admin kubeconfig, from Talos' own generator, as an archive with one file.
func (m *machinedServer) Kubeconfig(_ *emptypb.Empty, stream machine.MachineService_KubeconfigServer) error {
	if err := m.needControlPlane("kubeconfig"); err != nil {
		return err
	}

	var admin bytes.Buffer
	if err := kubeconfig.GenerateAdmin(m.system.config().Cluster(), &admin); err != nil {
		return err
	}

	archive, err := m.pack("kubeconfig", admin.Bytes())
	if err != nil {
		return err
	}

	return stream.Send(&common.Data{Bytes: archive})
}

// pack returns a gzipped tar archive with one file that only its owner may read.
func (m *machinedServer) pack(name string, content []byte) ([]byte, error) {
	var archive bytes.Buffer

	compress := gzip.NewWriter(&archive)
	files := tar.NewWriter(compress)

	err := files.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), ModTime: m.system.fleet.config.Now(), Mode: 0o600,
	})
	if err == nil {
		_, err = files.Write(content)
	}

	if err = errors.Join(err, files.Close(), compress.Close()); err != nil {
		return nil, fmt.Errorf("pack %s: %w", name, err)
	}

	return archive.Bytes(), nil
}
