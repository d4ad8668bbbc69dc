package talos

import (
	"context"
	"fmt"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"google.golang.org/protobuf/types/known/emptypb"
)

// fullVolume is what is left on a volume that a fault has filled, in bytes.
const fullVolume = 300 << 20

// Mounts returns the mounts with their sizes (Talos v1.12.4, server/v1alpha1/v1alpha1_server.go, Mounts): the root file
// system, which has no size of its own, and the volumes. Half of a volume is free, unless a fault has filled EPHEMERAL.
func (m *machinedServer) Mounts(ctx context.Context, _ *emptypb.Empty) (*machine.MountsResponse, error) {
	mounted, err := safe.StateListAll[*block.MountStatus](ctx, m.system.resources)
	if err != nil {
		return nil, fmt.Errorf("list what is mounted: %w", err)
	}

	stats := []*machine.MountStat{{Filesystem: "/dev/loop0", MountedOn: "/"}}

	for mount := range mounted.All() {
		volume, err := safe.StateGetByID[*block.VolumeStatus](ctx, m.system.resources, mount.TypedSpec().Spec.VolumeID)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", mount.TypedSpec().Spec.VolumeID, err)
		}

		size := volume.TypedSpec().Size
		free := size / 2

		if mount.TypedSpec().Target == constants.EphemeralMountPoint && m.system.vm.effect(StepRoom).Full {
			free = min(free, fullVolume)
		}

		stats = append(stats, &machine.MountStat{
			Filesystem: mount.TypedSpec().Source, MountedOn: mount.TypedSpec().Target, Size: size, Available: free,
		})
	}

	return &machine.MountsResponse{Messages: []*machine.Mounts{{Stats: stats}}}, nil
}
