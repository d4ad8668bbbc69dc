// Package disks makes, copies, moves and resizes the disks of VMs (qemu-server QemuServer/Drive.pm; QemuServer.pm, clone_disk). It
// keeps nothing: volumes are the storages', and what VMs have of them is in their configurations.
//
// Volumes are allocated under the lock file of their storage, so that nobody who makes or copies a disk may hold the lock of
// the configurations.
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

// Storages are what disks are made of. A volume is named by its ID.
type Storages interface {
	// On is the definition of a storage that a node has.
	On(id, node string) (storage.Definition, error)
	// Lock takes the lock under which volumes of a storage are allocated.
	Lock(ctx context.Context, info task.Info, node, id string) (release func(), err error)

	Volume(node, id string) (storage.Volume, error)

	Allocate(id string, r storage.Request) (storage.Volume, error)
	Copy(node, source, to string, r storage.Request) (storage.Volume, error)
	Link(node, source, to string, r storage.Request) (storage.Volume, error)
	MakeBase(node, id string) (string, error)
	Resize(node, id string, bytes uint64) error
	Free(node, id string)
}

// Permissions are what callers may do.
type Permissions interface {
	Check(identity, path string, anyOf bool, privileges ...string) error
}

// Parts are what the service needs. All of them are required.
type Parts struct {
	Configs     *config.Service
	Processes   *process.Service
	Settings    settings.Reader
	Storages    Storages
	Permissions Permissions
	Machines    machine.Machines
}

// Service is the disks of VMs. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	configs     *config.Service
	processes   *process.Service
	settings    settings.Reader
	storages    Storages
	permissions Permissions
	machines    machine.Machines
}

// New is the disks of the VMs that have these configurations.
func New(env *host.Environment, parts Parts) *Service {
	return &Service{
		env: env, configs: parts.Configs, processes: parts.Processes, settings: parts.Settings, storages: parts.Storages,
		permissions: parts.Permissions, machines: parts.Machines,
	}
}

// Methods are those of the API about disks that are there.
func (s *Service) Methods() []api.Method {
	const one = settings.CreatePath + "/{vmid}"

	return []api.Method{
		api.Put(one+"/resize", s.resizeDisk),
		api.Post(one+"/move_disk", s.moveDisk),
	}
}

// Retire does with a drive that is replaced or taken out what Proxmox VE does: the cloud-init drive is freed, a disk
// becomes unused (QemuServer.pm, vmconfig_register_unused_drive).
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

// EachVolume goes through the disks of a configuration that are there.
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

// Identities are those of a configuration's disks.
func (s *Service) Identities(node string, conf *vmconfig.Config) ([]string, error) {
	var identities []string

	err := s.EachVolume(node, conf, func(v storage.Volume) error {
		identities = append(identities, v.Identity)
		return nil
	})

	return identities, err
}

// Plug shows a running guest the disks that its VM has now.
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

// Attach puts the drives of a VM into the machine that its guest sees.
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
			shown.ISO, shown.ISODrive = v.ID, drive.Key
		case !drive.CDROM() && drive.Key != "efidisk0" && drive.Key != "tpmstate0":
			shown.Disks = append(shown.Disks, machine.Disk{
				Slot: drive.Key, ID: v.Identity, Bytes: v.Size,
				Serial: drive.Options["serial"], DeviceID: s.deviceID(m, drive), SSD: drive.Options["ssd"] == "1",
			})
		}
	}

	return nil
}

// pinnedMachine is a machine type that is held at a version, such as pc-q35-9.2+pve1.
var pinnedMachine = regexp.MustCompile(`-(\d+)\.\d+(?:\+pve\d+)?$`)

// deviceID is what Proxmox VE 9 tells QEMU to call a SCSI disk, from machine version 10.0 on, which is what it takes where
// none is pinned; 8 gives it no name (qemu-server, DriveDevice.pm, print_drivedevice_full; stable-bookworm, QemuServer.pm).
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
