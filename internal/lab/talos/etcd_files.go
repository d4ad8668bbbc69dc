package talos

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// etcdDatabase is the data file of a member. An emulated node has no other file below /var/lib.
const etcdDatabase = constants.EtcdDataPath + "/member/snap/db"

// Copy sends a file as a compressed archive (v1alpha1_server.go, Copy, and pkg/archiver).
func (m *machinedServer) Copy(in *machine.CopyRequest, stream machine.MachineService_CopyServer) error {
	name := path.Clean(in.GetRootPath())
	if !path.IsAbs(name) {
		return fmt.Errorf("path is not absolute %v", name)
	}

	data := m.system.etcdData()
	if name != etcdDatabase || data.Empty() {
		return stream.Send(&common.Data{Metadata: &common.Metadata{Error: fmt.Sprintf("lstat %s: no such file or directory", name)}})
	}

	database, err := m.system.fleet.config.Kubernetes.EtcdDatabase(etcd.FormatID(data.Cluster))
	if err != nil {
		return err
	}

	packed, err := archive(path.Base(name), database)
	if err := errors.Join(err, database.Close()); err != nil {
		return err
	}

	for rest := packed; len(rest) > 0; rest = rest[min(snapshotChunk, len(rest)):] {
		if err := stream.Send(&common.Data{Bytes: rest[:min(snapshotChunk, len(rest))]}); err != nil {
			return err
		}
	}

	return nil
}

// archive returns a compressed archive with one file.
func archive(name string, content io.Reader) ([]byte, error) {
	text, err := io.ReadAll(content)
	if err != nil {
		return nil, err
	}

	var packed bytes.Buffer

	compressed := gzip.NewWriter(&packed)
	files := tar.NewWriter(compressed)
	err = files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg})

	if err == nil {
		_, err = files.Write(text)
	}

	err = errors.Join(err, files.Close(), compressed.Close())

	return packed.Bytes(), err
}

// List lists a folder, without what is below its entries (v1alpha1_server.go, List, and pkg/archiver). An emulated node has only the
// data directory of etcd.
func (m *machinedServer) List(in *machine.ListRequest, stream machine.MachineService_ListServer) error {
	root := path.Clean("/" + in.GetRoot())
	if root != constants.EtcdDataPath || !m.system.hasEphemeral() {
		return &os.PathError{Op: "lstat", Path: root, Err: errors.New("no such file or directory")}
	}

	modified := m.system.booted.Unix()
	names := []string{"."}

	if !m.system.etcdData().Empty() {
		names = append(names, "member")
	}

	for _, name := range names {
		err := stream.Send(&machine.FileInfo{
			Name: path.Join(root, name), RelativeName: name, Mode: uint32(os.ModeDir | 0o700), Modified: modified, IsDir: true,
		})
		if err != nil {
			return err
		}
	}

	return nil
}
