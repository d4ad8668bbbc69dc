package talos

import (
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/imager/quirks"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
)

// partition is a partition of a disk; its number is its place in the table.
type partition struct {
	Label      string               `json:"label"`
	Bytes      uint64               `json:"bytes"`
	Filesystem block.FilesystemType `json:"filesystem"`
}

// systemPartitions is the layout that the installer writes for firmware without UEFI: sizes from machinery imager/quirks,
// order from Talos' internal/pkg/partition. The last one takes what is left.
func systemPartitions(talosVersion string, diskBytes uint64) []partition {
	sizes := quirks.New(talosVersion).PartitionSizes()

	layout := []partition{
		{constants.EFIPartitionLabel, sizes.GrubEFISize(), block.FilesystemTypeVFAT},
		{constants.BIOSGrubPartitionLabel, sizes.GrubBIOSSize(), block.FilesystemTypeNone},
		{constants.BootPartitionLabel, sizes.GrubBootSize(), block.FilesystemTypeXFS},
		{constants.MetaPartitionLabel, sizes.METASize(), block.FilesystemTypeNone},
		{constants.StatePartitionLabel, sizes.StateSize(), block.FilesystemTypeXFS},
	}

	return append(layout, partition{constants.EphemeralPartitionLabel, unallocated(diskBytes, layout), block.FilesystemTypeXFS})
}

// minimumBytes is the smallest disk that the partitions fit on.
func minimumBytes(talosVersion string) uint64 {
	sizes := quirks.New(talosVersion).PartitionSizes()

	// UKIEFISize is the sum of the first three partitions, whichever of the two layouts is written
	return sizes.UKIEFISize() + sizes.METASize() + sizes.StateSize() + sizes.EphemeralMinSize()
}

// tableBytes are taken by the two copies of the partition table, in the alignment of partitions
// (go-blockdevice v2.0.23, partitioning/gpt).
const tableBytes = 2 << 20

// unallocated is the room behind the last partition of a disk.
func unallocated(diskBytes uint64, table []partition) uint64 {
	used := uint64(tableBytes)
	for _, p := range table {
		used += p.Bytes
	}

	return diskBytes - min(diskBytes, used)
}

// numberOf is the number of the partition with a label, 0 if there is none.
func numberOf(label string, table []partition) int {
	return slices.IndexFunc(table, func(p partition) bool { return p.Label == label }) + 1
}
