// Package hardware contains the fixed hardware of a cluster's machines and templates: the slots of their drives, the sizes of a
// template, the least that Talos needs, and defaults. The components, the checks and the lab use it. Pure.
package hardware

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/pve/limits"
)

// Numbers of the disks on their SCSI controller. Talos identifies them by these (decision 12).
const (
	// SystemDisk is what Talos is installed on.
	SystemDisk    = 0
	firstDataDisk = 1
)

// Slots of drives that every machine has. A q35 machine, which PCIe passthrough needs, has ide0 and ide2 only.
const (
	// SystemDrive is the drive of the system disk.
	SystemDrive = "scsi0"
	// ISODrive holds the ISO of Talos.
	ISODrive = "ide0"
	// SeedDrive is the cloud-init drive of a node. Talos has the driver.
	SeedDrive = "ide2"
)

// SystemSeedDrive is the cloud-init drive of a machine from an image: the last one on the controller of its disks, which no data disk uses. IDE of a
// q35 machine is SATA (AHCI), and published images have kernels without its driver, so that cloud-init never finds the drive: those of RHEL 8
// (hashicorp/packer-plugin-proxmox#74) and of Debian (ajschroeder/proxmox-packer-examples#31, OpenNebula/one-apps#309).
var SystemSeedDrive = SCSIDrive(limits.SCSIDrives - 1)

// DataDisk returns the number of a data disk; data disks are counted from 0.
func DataDisk(index int) int { return firstDataDisk + index }

// SCSIDrive returns the drive of a disk in Proxmox VE: scsi1 for number 1.
func SCSIDrive(number int) string { return fmt.Sprintf("scsi%d", number) }

// PCISlot returns the slot of a device that is passed through, counted from 0: hostpci0.
func PCISlot(index int) string { return fmt.Sprintf("hostpci%d", index) }

// How many further devices of each kind a machine can have.
const (
	// MaxDataDisks are the disks beside the system disk.
	MaxDataDisks = limits.Disks - firstDataDisk
	// MaxNICs are the network cards beside the first.
	MaxNICs = limits.NICs - 1
	// MaxGPUs are the devices that are passed through.
	MaxGPUs = limits.PCIDevices
)

// Sizes of a template.
const (
	// TemplateDiskGiB is the size of its blank disk in GiB. A clone's disk grows from it and cannot be smaller (F21).
	TemplateDiskGiB = 1
	// TemplateMemoryMiB is its memory in MiB, which is never used: a template does not start.
	TemplateMemoryMiB = 2048
	// ISOGiB is the size of an ISO of Talos with its extensions, in GiB, rounded up.
	ISOGiB = 1
)

// Defaults of a machine.
const (
	// MTU of a network card in bytes.
	MTU = 1500
	// CPUType that a machine sees: the type that every host of a cluster can offer.
	CPUType = "x86-64-v2-AES"
	// GPUCPUType is the type for a machine with GPUs, the CPU of its host: such a machine cannot migrate, so it needs no common
	// type, and x86-64-v2-AES is without AVX (pve-docs, qm.adoc), without which Ollama refuses the GPU (ollama#8606).
	GPUCPUType = "host"
)
