package pending

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/disks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// applyDrives creates the new drives one by one, and records them.
func (s *Service) applyDrives(ctx context.Context, u *update, report func(string, ...any)) error {
	for _, drive := range u.drives {
		var target disks.Target

		err := s.on(u, func(m *config.VM) error {
			target = disks.Target{
				Node: m.Node, VMID: m.ID, Template: m.Config.Template(), Config: m.Config.WithPending(), Print: report,
				Worker: task.Info{Node: m.Node, VMID: m.ID},
			}

			return s.checkDrive(u, m, drive)
		})
		if err != nil {
			return err
		}

		maker := s.disks.Maker(target)
		if err := maker.Make(ctx, drive); err != nil {
			return err
		}

		if err := s.on(u, func(m *config.VM) error { return s.recordDrive(m, drive) }); err != nil {
			return err
		}
	}

	return nil
}

// checkDrive checks whether a drive may replace the existing one.
func (s *Service) checkDrive(u *update, m *config.VM, drive *vmconfig.Drive) error {
	if current := m.Config.Get(drive.Key); current != "" {
		old, err := s.access.ParseDrive(drive.Key, current)
		if err != nil {
			return err
		}

		if err := s.access.CheckDrive(u.call.Identity, m.ID, old); err != nil {
			return err
		}

		if drive.Key == "tpmstate0" && old.Options["version"] != drive.Options["version"] {
			return fmt.Errorf("cannot change TPM state version after creation")
		}
	}

	return s.access.CheckDrive(u.call.Identity, m.ID, drive)
}

func (s *Service) recordDrive(m *config.VM, drive *vmconfig.Drive) error {
	if old, ok := m.Config.Pending[drive.Key]; ok {
		s.disks.Retire(m, drive.Key, old)
	}

	m.Config.SetPending(drive.Key, drive.String())

	// A new CD-ROM is added to an existing boot order.
	if order := m.Config.WithPending().BootOrder(); len(order) > 0 && drive.CDROM() && !drive.CloudInit() &&
		!slices.Contains(order, drive.Key) {
		m.Config.SetPending("boot", vmconfig.PrintBoot(append(order, drive.Key)))
	}

	return nil
}

// Apply applies all pending changes of a VM that does not run (QemuServer.pm, vmconfig_apply_pending).
func (s *Service) Apply(m *config.VM) {
	for _, key := range slices.Clone(m.Config.Deleted) {
		s.takeOut(m, key)
	}

	for _, key := range slices.Sorted(maps.Keys(m.Config.Pending)) {
		s.putIn(m, key)
	}

	m.Config.Pending, m.Config.Deleted = nil, nil
	s.env.Changed()
}

func (s *Service) takeOut(m *config.VM, key string) {
	if vmconfig.IsDrive(key) {
		s.disks.Retire(m, key, m.Config.Get(key))
	}

	m.Config.Delete(key)
	m.Config.Deleted = slices.DeleteFunc(m.Config.Deleted, func(k string) bool { return k == key })
}

func (s *Service) putIn(m *config.VM, key string) {
	value := m.Config.Pending[key]

	if old := m.Config.Get(key); vmconfig.IsDrive(key) && old != "" && config.VolumeOf(old) != config.VolumeOf(value) {
		s.disks.Retire(m, key, old)
	}

	m.Config.Set(key, value)
	delete(m.Config.Pending, key)
}

// fastPlug are settings without an effect on a running machine (QemuServer.pm, fast_plug_option).
var fastPlug = []string{
	"description", "hookscript", "lock", "migrate_downtime", "migrate_speed", "name", "onboot", "protection", "shares",
	"startup", "tags", "vmstatestorage",
}

var hotDrive = regexp.MustCompile(`^(?:scsi|virtio)\d+$`)

// hotplug applies the pending changes that a running machine supports. The others wait for its next start (QemuServer.pm,
// vmconfig_hotplug_pending). The default hotplug features are network, disk and usb.
func (s *Service) hotplug(m *config.VM) {
	features := m.Config.Get("hotplug")
	if features == "" || features == "1" {
		features = "network,disk,usb"
	}

	can := func(key string) bool {
		switch {
		case slices.Contains(fastPlug, key), settings.IsCloudInit(key), settings.IsIPConfig(key), key == "cpuunits", key == "cpulimit":
			return true
		case vmconfig.IsNetwork(key):
			return strings.Contains(features, "network")
		case hotDrive.MatchString(key):
			return strings.Contains(features, "disk")
		case key == "tablet":
			return strings.Contains(features, "usb")
		default:
			return false
		}
	}

	for _, key := range slices.Clone(m.Config.Deleted) {
		if can(key) {
			s.takeOut(m, key)
		}
	}

	for _, key := range slices.Sorted(maps.Keys(m.Config.Pending)) {
		// A change of a CD-ROM's medium needs no hotplug (QemuServer.pm, vmconfig_update_disk).
		if can(key) && !s.needsColdStart(m, key) || s.changesMedium(m, key) {
			s.putIn(m, key)
		}
	}

	s.disks.Plug(m)
}

// coldOptions of a disk take effect when QEMU starts (QemuServer.pm, vmconfig_update_disk, "skip non hotpluggable value"). A
// serial is not among them: it is written at once, and the guest sees it after the next start.
var coldOptions = []string{"aio", "discard", "iothread", "queues", "product", "cache", "ssd", "vendor", "ro"}

// needsColdStart reports whether a change of an existing disk waits for the next start.
func (s *Service) needsColdStart(m *config.VM, key string) bool {
	if !vmconfig.IsDrive(key) || !m.Config.Has(key) {
		return false
	}

	before, err := s.access.ParseDrive(key, m.Config.Get(key))
	if err != nil {
		return false
	}

	after, err := s.access.ParseDrive(key, m.Config.Pending[key])
	if err != nil || before.Volume() != after.Volume() {
		return false
	}

	return slices.ContainsFunc(coldOptions, func(name string) bool { return before.Options[name] != after.Options[name] })
}

func (s *Service) changesMedium(m *config.VM, key string) bool {
	if !vmconfig.IsDrive(key) || !m.Config.Has(key) {
		return false
	}

	before, err := schema.ParseProperties(s.access.Fields(key), m.Config.Get(key))
	if err != nil {
		return false
	}

	after, err := schema.ParseProperties(s.access.Fields(key), m.Config.Pending[key])

	return err == nil && before["media"] == "cdrom" && after["media"] == "cdrom"
}
