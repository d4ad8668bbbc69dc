package pending

import (
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// applyRemovals records what is to be removed.
func (s *Service) applyRemovals(u *update, m *config.VM, report func(string, ...any)) error {
	for _, key := range u.call.Params.List("revert") {
		delete(m.Config.Pending, key)
		m.Config.Deleted = slices.DeleteFunc(m.Config.Deleted, func(k string) bool { return k == key })
	}

	for _, key := range u.remove {
		value, pending := m.Config.Pending[key]
		if !pending {
			value = m.Config.Get(key)
		}

		if value == "" {
			report("cannot delete '%s' - not set in current configuration!", key)
			continue
		}

		if err := s.remove(u, m, key, value); err != nil {
			return err
		}

		if order := m.Config.WithPending().BootOrder(); slices.Contains(order, key) {
			order = slices.DeleteFunc(order, func(k string) bool { return k == key })
			m.Config.SetPending("boot", vmconfig.PrintBoot(order))
		}
	}

	return nil
}

func (s *Service) remove(u *update, m *config.VM, key, value string) error {
	identity := u.call.Identity

	switch {
	case settings.IsUnused(key):
		return s.removeUnused(identity, m, key, value)
	case vmconfig.IsDrive(key):
		if err := m.CheckProtection(fmt.Sprintf("can't remove drive '%s'", key)); err != nil {
			return err
		}

		drive, err := s.access.ParseDrive(key, value)
		if err != nil {
			return err
		}

		if err := s.access.CheckDrive(identity, m.ID, drive); err != nil {
			return err
		}
	case key == "tags":
		m.Config.Delete(key)
		return s.access.CheckTags(identity, m.ID)
	default:
		if err := s.access.CheckDevice(identity, m.ID, "", key, value); err != nil {
			return err
		}
	}

	m.Config.DeletePending(key)

	return nil
}

// removeUnused removes a volume that no drive uses any more.
func (s *Service) removeUnused(identity string, m *config.VM, key, value string) error {
	if err := m.CheckProtection(fmt.Sprintf("can't remove unused disk '%s'", value)); err != nil {
		return err
	}

	if err := s.permissions.CheckVM(identity, m.ID, "", false, "VM.Config.Disk"); err != nil {
		return err
	}

	s.storages.Free(m.Node, value)
	m.Config.Delete(key)

	return nil
}

// applySettings records changed settings, except drives.
func (s *Service) applySettings(u *update, m *config.VM) error {
	for _, key := range u.settings.Names() {
		if vmconfig.IsDrive(key) {
			continue
		}

		if err := s.applySetting(u, m, key, u.settings.Get(key)); err != nil {
			return err
		}
	}

	return nil
}

func (s *Service) applySetting(u *update, m *config.VM, key, value string) error {
	switch {
	case key == "tags":
		if err := s.access.CheckTags(u.call.Identity, m.ID); err != nil {
			return err
		}

		value = vmconfig.UniqueTags(value)
	case key == "cipassword" && value != "":
		value = s.access.HashPassword(m.ID, value)
	case key == "vmgenid" && value == "1":
		id, err := s.env.Random.UUID(m.ID, "vmgenid")
		if err != nil {
			return err
		}

		value = id
	case key == "boot":
		if err := checkBootOrder(u, m, value); err != nil {
			return err
		}
	default:
		if err := s.access.CheckDevice(u.call.Identity, m.ID, "", key, value); err != nil {
			return err
		}
	}

	// A name without a value removes the setting.
	if value == "" {
		m.Config.DeletePending(key)
		return nil
	}

	m.Config.SetPending(key, value)

	return nil
}

// checkBootOrder returns an error for a device that the VM will not have.
func checkBootOrder(u *update, m *config.VM, value string) error {
	next := m.Config.WithPending()
	next.Set("boot", value)

	for _, device := range next.BootOrder() {
		if !next.Has(device) && !u.settings.Has(device) || slices.Contains(u.remove, device) {
			return fmt.Errorf("invalid bootorder: device '%s' does not exist'", device)
		}
	}

	return nil
}
