package qemu

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
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

// notSettings are the parameters of a change that are no settings.
var notSettings = []string{
	"node", "vmid", "digest", "delete", "revert", "force", "skiplock", "background_delay", "import-working-storage",
}

// updateVM answers PUT /nodes/{node}/qemu/{vmid}/config (API2/Qemu.pm, update_vm_api).
func (s *Service) updateVM(c *api.Call) (any, error) {
	u, err := s.planUpdate(c)
	if err != nil {
		return nil, err
	}

	return nil, s.withConfigLock(c.Ctx, c.VMID, func() error { return s.applyUpdate(c.Ctx, u, nil) })
}

// updateVMAsync answers POST on the same path: the change is a worker's.
func (s *Service) updateVMAsync(c *api.Call) (any, error) {
	u, err := s.planUpdate(c)
	if err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "qmconfig", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.withConfigLock(w.Ctx, c.VMID, func() error { return s.applyUpdate(w.Ctx, u, w.Print) })
	})
}

// withConfigLock does something while it alone may change a VM's configuration.
func (s *Service) withConfigLock(ctx context.Context, vmid int, do func() error) error {
	release, err := s.env.Locks.Exclusive(ctx, flock.ConfigFile(vmid), s.env.Pace.Timeout(pace.ConfigLockTimeout))
	if err != nil {
		return err
	}
	defer release()

	return do()
}

// planUpdate makes the checks that need no lock on the configuration.
func (s *Service) planUpdate(c *api.Call) (*update, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	u := &update{call: c, settings: resolveCDROM(c.Params.Without(notSettings...)), force: c.Params.Bool("force", false)}

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

		if !s.isSetting(key) {
			return nil, schema.BadParam("delete", "unknown option '%s'", key)
		}

		u.remove = append(u.remove, key)
	}

	for _, key := range c.Params.List("revert") {
		if !s.isSetting(key) {
			return nil, schema.BadParam("revert", "unknown option '%s'", key)
		}
	}

	if len(u.settings) == 0 && len(u.remove) == 0 && !c.Params.Has("revert") {
		return nil, errors.New("no options specified")
	}

	return u, s.checkUpdate(u)
}

// isSetting reports whether a VM's configuration may have the key (QemuServer.pm, option_exists).
func (s settings) isSetting(key string) bool {
	if slices.Contains([]string{"lock", "vmstate", "meta", "parent", "snaptime"}, key) {
		return true
	}

	method, ok := s.env.Schema.Method("POST", createPath)
	if !ok {
		return false
	}

	_, known := schema.Lookup(method.Parameters, key)

	return known && !slices.Contains(notSettings, key)
}

func (s *Service) checkUpdate(u *update) error {
	c := u.call

	drives, err := s.checkDrives(u.settings)
	if err != nil {
		return err
	}

	u.drives = drives
	cards := map[string]string{}

	for _, key := range u.settings.Names() {
		if !vmconfig.IsNetwork(key) || u.settings.Get(key) == "" {
			continue
		}

		card, err := s.parseCard(c.VMID, key, u.settings.Get(key))
		if err != nil {
			return err
		}

		cards[key] = card.String()
		u.settings[key] = schema.Scalar(card.String())
	}

	for _, names := range [][]string{u.remove, u.settings.Names()} {
		if err := s.checkSettings(c.Identity, c.VMID, "", names); err != nil {
			return err
		}
	}

	for _, drive := range drives {
		if err := s.checkDriveStorage(c.Identity, c.Node, c.VMID, drive, ""); err != nil {
			return err
		}
	}

	return s.checkBridges(c.Identity, cards)
}

// applyUpdate changes the configuration, whose lock is held.
func (s *Service) applyUpdate(ctx context.Context, u *update, report func(string, ...any)) error {
	if report == nil {
		report = func(string, ...any) {}
	}

	if err := s.checkCurrent(u); err != nil {
		return err
	}

	if err := s.env.Wait(ctx, pace.ConfigWrite); err != nil {
		return err
	}

	if err := s.locked(func() error { return s.applyRemovals(u, report) }); err != nil {
		return err
	}

	if err := s.locked(func() error { return s.applySettings(u) }); err != nil {
		return err
	}

	if err := s.applyDrives(ctx, u, report); err != nil {
		return err
	}

	return s.locked(func() error { return s.takeEffect(u) })
}

// takeEffect lets the changes come into force as far as they can.
func (s *Service) takeEffect(u *update) error {
	m, err := s.find(u.call.Node, u.call.VMID)
	if err != nil {
		return err
	}

	m.Config.CleanupPending()
	s.env.Changed()

	if m.Running {
		s.hotplug(m)
	} else {
		s.applyPending(m)
	}

	return nil
}

// checkCurrent makes the checks against the configuration as it is now.
func (s *Service) checkCurrent(u *update) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.find(u.call.Node, u.call.VMID)
	if err != nil {
		return err
	}

	if digest := u.call.Params.Get("digest"); digest != "" && digest != m.Config.Digest() {
		return errors.New("checksum mismatch (file change by other user?)")
	}

	if err := s.checkLock(m); err != nil {
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
