package qemu

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// applyDrives makes the new drives one by one, and records them.
func (s *Service) applyDrives(ctx context.Context, u *update, report func(string, ...any)) error {
	for _, drive := range u.drives {
		maker, err := s.prepareDrive(u, drive, report)
		if err != nil {
			return err
		}

		if err := maker.make(ctx, drive); err != nil {
			return err
		}

		if err := s.locked(func() error { return s.recordDrive(u, drive) }); err != nil {
			return err
		}
	}

	return nil
}

func (s *Service) prepareDrive(u *update, drive *vmconfig.Drive, report func(string, ...any)) (*diskMaker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.find(u.call.Node, u.call.VMID)
	if err != nil {
		return nil, err
	}

	if current := m.Config.Get(drive.Key); current != "" {
		old, err := s.parseDrive(drive.Key, current)
		if err != nil {
			return nil, err
		}

		if err := s.checkDrive(u.call.Identity, m.ID, old); err != nil {
			return nil, err
		}

		if drive.Key == "tpmstate0" && old.Options["version"] != drive.Options["version"] {
			return nil, fmt.Errorf("cannot change TPM state version after creation")
		}
	}

	if err := s.checkDrive(u.call.Identity, m.ID, drive); err != nil {
		return nil, err
	}

	return &diskMaker{
		s: s, node: m.Node, vmid: m.ID, template: m.Config.Template(), conf: m.Config.WithPending(), print: report,
		info: task.Info{Node: m.Node, VMID: m.ID},
	}, nil
}

func (s *Service) recordDrive(u *update, drive *vmconfig.Drive) error {
	m, err := s.find(u.call.Node, u.call.VMID)
	if err != nil {
		return err
	}

	if old, ok := m.Config.Pending[drive.Key]; ok {
		s.retire(m, drive.Key, old)
	}

	m.Config.SetPending(drive.Key, drive.String())

	// A new CD-ROM becomes bootable where an order is set.
	if order := m.Config.WithPending().BootOrder(); len(order) > 0 && drive.CDROM() && !drive.CloudInit() &&
		!slices.Contains(order, drive.Key) {
		m.Config.SetPending("boot", vmconfig.PrintBoot(append(order, drive.Key)))
	}

	return nil
}

// retire does with a drive that is replaced or taken out what Proxmox VE does: the cloud-init drive is freed, a disk
// becomes unused (QemuServer.pm, vmconfig_register_unused_drive).
func (s *Service) retire(m *vm, key, text string) {
	drive, err := s.parseDrive(key, text)
	if err != nil {
		return
	}

	switch {
	case drive.CloudInit():
		s.storages.Free(m.Node, drive.Volume())
	case !drive.CDROM() && s.owns(m, drive.Volume()):
		m.addUnused(drive.Volume())
	}
}

// owns reports whether a volume exists and belongs to the VM.
func (s *Service) owns(m *vm, volume string) bool {
	v, err := s.storages.Volume(m.Node, volume)

	return err == nil && v.VMID == m.ID
}

func (m *vm) addUnused(volume string) {
	for i := range 256 {
		key := fmt.Sprintf("unused%d", i)

		switch m.Config.Get(key) {
		case volume:
			return
		case "":
			m.Config.Set(key, volume)
			return
		}
	}
}

// applyPending makes all pending changes of a VM that does not run (QemuServer.pm, vmconfig_apply_pending).
func (s *Service) applyPending(m *vm) {
	for _, key := range slices.Clone(m.Config.Deleted) {
		s.takeOut(m, key)
	}

	for _, key := range slices.Sorted(maps.Keys(m.Config.Pending)) {
		s.putIn(m, key)
	}

	m.Config.Pending, m.Config.Deleted = nil, nil
	s.env.Changed()
}

func (s *Service) takeOut(m *vm, key string) {
	if vmconfig.IsDrive(key) {
		s.retire(m, key, m.Config.Get(key))
	}

	m.Config.Delete(key)
	m.Config.Deleted = slices.DeleteFunc(m.Config.Deleted, func(k string) bool { return k == key })
}

func (s *Service) putIn(m *vm, key string) {
	value := m.Config.Pending[key]

	if old := m.Config.Get(key); vmconfig.IsDrive(key) && old != "" && volumeOf(old) != volumeOf(value) {
		s.retire(m, key, old)
	}

	m.Config.Set(key, value)
	delete(m.Config.Pending, key)
}

func volumeOf(drive string) string {
	volume, _, _ := strings.Cut(drive, ",")
	return volume
}

// fastPlug are the settings that do not touch a running machine (QemuServer.pm, fast_plug_option).
var fastPlug = append([]string{
	"description", "hookscript", "lock", "migrate_downtime", "migrate_speed", "name", "onboot", "protection", "shares",
	"startup", "tags", "vmstatestorage",
}, cloudInitSettings...)

var hotDrive = regexp.MustCompile(`^(?:scsi|virtio)\d+$`)

// hotplug makes those pending changes that a running machine can take; the others wait for its next start
// (QemuServer.pm, vmconfig_hotplug_pending). The default hotplug features are network, disk and usb.
func (s *Service) hotplug(m *vm) {
	features := m.Config.Get("hotplug")
	if features == "" || features == "1" {
		features = "network,disk,usb"
	}

	can := func(key string) bool {
		switch {
		case slices.Contains(fastPlug, key), ipconfigKey.MatchString(key), key == "cpuunits", key == "cpulimit":
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
		// Changing the medium of a CD-ROM needs no hotplug (QemuServer.pm, vmconfig_update_disk).
		if can(key) && !s.needsColdStart(m, key) || s.changesMedium(m, key) {
			s.putIn(m, key)
		}
	}

	s.tellDisks(m)
}

// coldOptions of a disk take effect when QEMU starts (QemuServer.pm, vmconfig_update_disk, "skip non hotpluggable value").
// A serial is not among them: it is written at once, and the guest sees it from the next start on.
var coldOptions = []string{"aio", "discard", "iothread", "queues", "product", "cache", "ssd", "vendor", "ro"}

// needsColdStart reports whether a change of a disk that is there waits for the next start.
func (s settings) needsColdStart(m *vm, key string) bool {
	if !vmconfig.IsDrive(key) || !m.Config.Has(key) {
		return false
	}

	before, err := s.parseDrive(key, m.Config.Get(key))
	if err != nil {
		return false
	}

	after, err := s.parseDrive(key, m.Config.Pending[key])
	if err != nil || before.Volume() != after.Volume() {
		return false
	}

	return slices.ContainsFunc(coldOptions, func(name string) bool { return before.Options[name] != after.Options[name] })
}

func (s settings) changesMedium(m *vm, key string) bool {
	if !vmconfig.IsDrive(key) || !m.Config.Has(key) {
		return false
	}

	before, err := schema.ParseProperties(s.fields(key), m.Config.Get(key))
	if err != nil {
		return false
	}

	after, err := schema.ParseProperties(s.fields(key), m.Config.Pending[key])

	return err == nil && before["media"] == "cdrom" && after["media"] == "cdrom"
}
