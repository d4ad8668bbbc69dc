// Package disks creates, copies, moves and resizes the disks of VMs (qemu-server QemuServer/Drive.pm; QemuServer.pm,
// clone_disk). It is stateless: volumes are in the storages, and drives in the configurations.
//
// Volumes are allocated under the lock file of their storage, so a caller that creates or copies a disk must not hold the
// lock of the configurations.
package disks

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// Storages hold the disks. A volume is identified by its ID.
type Storages interface {
	// On returns the definition of a storage on a node.
	On(id, node string) (storage.Definition, error)
	// Lock takes the lock for the allocation of volumes in a storage.
	Lock(ctx context.Context, info task.Info, node, id string) (release func(), err error)

	Volume(node, id string) (storage.Volume, error)

	Allocate(id string, r storage.Request) (storage.Volume, error)
	Copy(node, source, to string, r storage.Request) (storage.Volume, error)
	Link(node, source, to string, r storage.Request) (storage.Volume, error)
	MakeBase(node, id string) (string, error)
	Resize(node, id string, bytes uint64) error
	Free(node, id string)
	// RecordSystem records the system that was installed on a volume.
	RecordSystem(node, id, origin string) error
}

// Permissions checks what callers may do.
type Permissions interface {
	Check(identity, path string, anyOf bool, privileges ...string) error
}

// Parts are the dependencies of the service. All are required.
type Parts struct {
	Configs     *config.Service
	Processes   *process.Service
	Settings    settings.Reader
	Storages    Storages
	Permissions Permissions
	Machines    machine.Machines
}

// Service manages the disks of VMs. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	configs     *config.Service
	processes   *process.Service
	settings    settings.Reader
	storages    Storages
	permissions Permissions
	machines    machine.Machines
}

// New returns a service for the VMs with these configurations.
func New(env *host.Environment, parts Parts) *Service {
	return &Service{
		env: env, configs: parts.Configs, processes: parts.Processes, settings: parts.Settings, storages: parts.Storages,
		permissions: parts.Permissions, machines: parts.Machines,
	}
}

// Methods returns the API methods about existing disks.
func (s *Service) Methods() []api.Method {
	const one = settings.CreatePath + "/{vmid}"

	return []api.Method{
		api.Put(one+"/resize", s.resizeDisk),
		api.Post(one+"/move_disk", s.moveDisk),
	}
}

// Retire handles a replaced or removed drive as Proxmox VE does: the cloud-init drive is removed, a disk becomes unused
// (QemuServer.pm, vmconfig_register_unused_drive).
func (s *Service) Retire(m *config.VM, key, text string) {
	drive, err := s.settings.ParseDrive(key, text)
	if err != nil {
		return
	}

	switch {
	case drive.CloudInit():
		s.storages.Free(m.Node, drive.Volume())
	case !drive.CDROM() && s.Owns(m, drive.Volume()):
		m.AddUnused(drive.Volume())
	}
}

// Owns reports whether a volume exists and belongs to the VM.
func (s *Service) Owns(m *config.VM, volume string) bool {
	v, err := s.storages.Volume(m.Node, volume)

	return err == nil && v.VMID == m.ID
}

// EachVolume calls do for each existing disk of a configuration.
func (s *Service) EachVolume(node string, conf *vmconfig.Config, do func(storage.Volume) error) error {
	drives, err := s.settings.Drives(conf)
	if err != nil {
		return err
	}

	for _, drive := range drives {
		if drive.CDROM() || drive.Storage() == "" {
			continue
		}

		v, err := s.storages.Volume(node, drive.Volume())
		if err != nil {
			return err
		}

		if err := do(v); err != nil {
			return err
		}
	}

	return nil
}

// Identities returns the identities of a configuration's disks.
func (s *Service) Identities(node string, conf *vmconfig.Config) ([]string, error) {
	var identities []string

	err := s.EachVolume(node, conf, func(v storage.Volume) error {
		identities = append(identities, v.Identity)
		return nil
	})

	return identities, err
}

// Plug passes the current disks of a VM to its running guest.
func (s *Service) Plug(m *config.VM) {
	if !s.processes.Running(m.ID) {
		return
	}

	var now machine.Machine
	if err := s.Attach(m, &now); err != nil {
		s.env.Note(fmt.Sprintf("VM %d keeps its former disks", m.ID), err)

		return
	}

	s.machines.ChangeDisks(m.ID, now.Disks)
}

// Attach adds the drives of a VM to its virtual hardware.
func (s *Service) Attach(m *config.VM, shown *machine.Machine) error {
	drives, err := s.settings.Drives(m.Config)
	if err != nil {
		return err
	}

	for _, drive := range drives {
		if drive.Storage() == "" {
			continue
		}

		v, err := s.storages.Volume(m.Node, drive.Volume())
		if err != nil {
			return err
		}

		switch {
		case v.Content == storage.ISO:
			shown.ISO, shown.ISOOrigin, shown.ISODrive = v.ID, v.Origin, drive.Key
		case !drive.CDROM() && drive.Key != "efidisk0" && drive.Key != "tpmstate0":
			shown.Disks = append(shown.Disks, machine.Disk{
				Slot: drive.Key, ID: v.Identity, Bytes: v.Size,
				Origin: v.Origin, Serial: drive.Options["serial"], DeviceID: s.deviceID(m, drive), SSD: drive.Options["ssd"] == "1",
			})
		}
	}

	return nil
}

// pinnedMachine matches a machine type with a fixed version, such as pc-q35-9.2+pve1.
var pinnedMachine = regexp.MustCompile(`-(\d+)\.\d+(?:\+pve\d+)?$`)

// deviceID returns the device ID that Proxmox VE 9 gives a SCSI disk, from machine version 10.0 on, which is the default if
// none is pinned. Proxmox VE 8 sets none (qemu-server, DriveDevice.pm, print_drivedevice_full; stable-bookworm,
// QemuServer.pm).
func (s *Service) deviceID(m *config.VM, drive *vmconfig.Drive) string {
	const firstMachine = 10

	if s.env.Release == schema.Release84 || !strings.HasPrefix(drive.Key, "scsi") {
		return ""
	}

	machineType, _, _ := strings.Cut(m.Config.Get("machine"), ",")
	if pinned := pinnedMachine.FindStringSubmatch(machineType); pinned != nil {
		if version, err := strconv.Atoi(pinned[1]); err != nil || version < firstMachine {
			return ""
		}
	}

	return "drive-" + drive.Key
}
