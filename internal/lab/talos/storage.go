package talos

import (
	"context"
	"path"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/api/storage"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"google.golang.org/protobuf/types/known/emptypb"
)

// storageServer serves the disks from the resources, as Talos does (internal/app/storaged), in maintenance mode and
// afterwards. Clients use it to detect maintenance mode.
type storageServer struct {
	storage.UnimplementedStorageServiceServer

	system *system
}

// Disks lists the disks, including the drive with the ISO.
func (s *storageServer) Disks(ctx context.Context, _ *emptypb.Empty) (*storage.DisksResponse, error) {
	systemDisk, err := safe.StateGetByID[*block.SystemDisk](ctx, s.system.resources, block.SystemDiskID)
	if err != nil && !state.IsNotFoundError(err) {
		return nil, err
	}

	disks, err := safe.StateListAll[*block.Disk](ctx, s.system.resources)
	if err != nil {
		return nil, err
	}

	list := &storage.Disks{}

	for d := range disks.All() {
		spec := d.TypedSpec()
		list.Disks = append(list.Disks, &storage.Disk{
			DeviceName: path.Join("/dev", d.Metadata().ID()),
			Model:      spec.Model,
			Size:       spec.Size,
			Type:       diskType(spec),
			SystemDisk: systemDisk != nil && systemDisk.TypedSpec().DiskID == d.Metadata().ID(),
			Subsystem:  spec.SubSystem,
			Readonly:   spec.Readonly,
		})
	}

	return &storage.DisksResponse{Messages: []*storage.Disks{list}}, nil
}

func diskType(spec *block.DiskSpec) storage.Disk_DiskType {
	switch {
	case spec.CDROM:
		return storage.Disk_CD
	case spec.Rotational:
		return storage.Disk_HDD
	default:
		return storage.Disk_SSD
	}
}
