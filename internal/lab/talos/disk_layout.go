package talos

import (
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/imager/quirks"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
)

// partition is a partition of a disk. Its number is its position in the table.
type partition struct {
	Label      string               `json:"label"`
	Bytes      uint64               `json:"bytes"`
	Filesystem block.FilesystemType `json:"filesystem"`
}

// systemPartitions returns the layout that the installer writes for firmware without UEFI: sizes from machinery
// imager/quirks, order from Talos' internal/pkg/partition. The last partition takes the remaining space.
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

// minimumBytes returns the size of the smallest disk for the system partitions.
func minimumBytes(talosVersion string) uint64 {
	sizes := quirks.New(talosVersion).PartitionSizes()

	// UKIEFISize is the sum of the first three partitions in both layouts
	return sizes.UKIEFISize() + sizes.METASize() + sizes.StateSize() + sizes.EphemeralMinSize()
}

// tableBytes is the size of the two copies of the partition table, with the alignment of partitions (go-blockdevice v2.0.23,
// partitioning/gpt).
const tableBytes = 2 << 20

// unallocated returns the free space after the last partition of a disk.
func unallocated(diskBytes uint64, table []partition) uint64 {
	used := uint64(tableBytes)
	for _, p := range table {
		used += p.Bytes
	}

	return diskBytes - min(diskBytes, used)
}

// numberOf returns the number of the partition with a label, 0 for none.
func numberOf(label string, table []partition) int {
	return slices.IndexFunc(table, func(p partition) bool { return p.Label == label }) + 1
}
