// Package pending changes the configurations of VMs. A change is recorded first and then applied as far as a running machine
// supports it; the rest is pending until the next start (qemu-server API2/Qemu.pm, update_vm_api; QemuServer.pm,
// vmconfig_hotplug_pending and vmconfig_apply_pending). It is stateless. A change holds the lock file of the configuration.
package pending

import (
	"context"
	"errors"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// update is a request to change a VM's configuration.
type update struct {
	call     *api.Call
	settings schema.Params
	remove   []string
	drives   []*vmconfig.Drive
	force    bool
}

// updateVM handles PUT /nodes/{node}/qemu/{vmid}/config (API2/Qemu.pm, update_vm_api).
func (s *Service) updateVM(c *api.Call) (any, error) {
	u, err := s.planUpdate(c)
	if err != nil {
		return nil, err
	}

	return nil, s.configs.WithLock(c.Ctx, c.VMID, func() error { return s.applyUpdate(c.Ctx, u, nil) })
}

// updateVMAsync handles POST on the same path. A worker makes the change.
func (s *Service) updateVMAsync(c *api.Call) (any, error) {
	u, err := s.planUpdate(c)
	if err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "qmconfig", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.configs.WithLock(w.Ctx, c.VMID, func() error { return s.applyUpdate(w.Ctx, u, w.Print) })
	})
}

// planUpdate runs the checks that need no lock on the configuration.
func (s *Service) planUpdate(c *api.Call) (*update, error) {
	u := &update{call: c, settings: settings.ResolveCDROM(c.Params.Without(settings.NotSettings...)), force: c.Params.Bool("force", false)}

	for _, only := range []string{"skiplock"} {
		if c.Params.Bool(only, false) {
			return nil, schema.BadParam(only, "Only root may use this option.")
		}
	}

	for _, key := range c.Params.List("delete") {
		if key == "cdrom" {
			key = "ide2"
		}

		if u.settings.Has(key) {
			return nil, schema.BadParam("delete", "you can't use '-%s' and -delete %s' at the same time", key, key)
		}

		if !s.access.IsSetting(key) {
			return nil, schema.BadParam("delete", "unknown option '%s'", key)
		}

		u.remove = append(u.remove, key)
	}

	for _, key := range c.Params.List("revert") {
		if !s.access.IsSetting(key) {
			return nil, schema.BadParam("revert", "unknown option '%s'", key)
		}
	}

	if len(u.settings) == 0 && len(u.remove) == 0 && !c.Params.Has("revert") {
		return nil, errors.New("no options specified")
	}

	return u, s.checkUpdate(u)
}

func (s *Service) checkUpdate(u *update) error {
	c := u.call

	drives, err := s.access.CheckDrives(u.settings)
	if err != nil {
		return err
	}

	u.drives = drives
	cards := map[string]string{}

	for _, key := range u.settings.Names() {
		if !vmconfig.IsNetwork(key) || u.settings.Get(key) == "" {
			continue
		}

		card, err := s.access.ParseCard(c.VMID, key, u.settings.Get(key))
		if err != nil {
			return err
		}

		cards[key] = card.String()
		u.settings[key] = schema.Scalar(card.String())
	}

	for _, names := range [][]string{u.remove, u.settings.Names()} {
		if err := s.access.CheckSettings(c.Identity, c.VMID, "", names); err != nil {
			return err
		}
	}

	for _, drive := range drives {
		if err := s.access.CheckDriveStorage(c.Identity, c.Node, c.VMID, drive, ""); err != nil {
			return err
		}
	}

	return s.access.CheckBridges(c.Identity, cards)
}

// on calls do with the VM of an update.
func (s *Service) on(u *update, do func(*config.VM) error) error {
	return s.configs.On(u.call.Node, u.call.VMID, do)
}

// applyUpdate changes the configuration. The caller holds its lock.
func (s *Service) applyUpdate(ctx context.Context, u *update, report func(string, ...any)) error {
	if report == nil {
		report = func(string, ...any) {}
	}

	if err := s.on(u, func(m *config.VM) error { return s.checkCurrent(u, m) }); err != nil {
		return err
	}

	if err := s.env.Wait(ctx, pace.ConfigWrite); err != nil {
		return err
	}

	if err := s.on(u, func(m *config.VM) error { return s.applyRemovals(u, m, report) }); err != nil {
		return err
	}

	if err := s.on(u, func(m *config.VM) error { return s.applySettings(u, m) }); err != nil {
		return err
	}

	if err := s.applyDrives(ctx, u, report); err != nil {
		return err
	}

	return s.on(u, func(m *config.VM) error { return s.takeEffect(m) })
}

// takeEffect applies the changes as far as possible.
func (s *Service) takeEffect(m *config.VM) error {
	m.Config.CleanupPending()
	s.env.Changed()

	if s.processes.Running(m.ID) {
		s.hotplug(m)
	} else {
		s.Apply(m)
	}

	return nil
}

// checkCurrent runs the checks against the current configuration.
func (s *Service) checkCurrent(u *update, m *config.VM) error {
	if digest := u.call.Params.Get("digest"); digest != "" && digest != m.Config.Digest() {
		return errors.New("checksum mismatch (file change by other user?)")
	}

	if err := m.CheckLock(s.env.Now()); err != nil {
		return err
	}

	next := m.Config.WithPending()
	if memory := u.settings.Get("memory"); memory != "" {
		next.Set("memory", memory)
	}

	balloon := next.Int("balloon", 0)
	if u.settings.Has("balloon") {
		balloon = u.settings.Int("balloon", 0)
	}

	if (u.settings.Has("memory") || u.settings.Has("balloon")) && balloon > next.MemoryMiB() {
		return errors.New("balloon value too large (must be smaller than assigned memory)")
	}

	return nil
}
