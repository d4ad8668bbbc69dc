package proxmox

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// update is a request to change a VM's configuration.
type update struct {
	call     *call
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
func (s *Server) updateVM(c *call) (any, error) {
	u, err := s.planUpdate(c)
	if err != nil {
		return nil, err
	}

	return nil, s.withConfigLock(c.ctx, c.vmid, func() error { return s.applyUpdate(c.ctx, u, nil) })
}

// updateVMAsync answers POST on the same path: the change is a worker's.
func (s *Server) updateVMAsync(c *call) (any, error) {
	u, err := s.planUpdate(c)
	if err != nil {
		return nil, err
	}

	return s.fork(c.node, "qmconfig", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		return s.withConfigLock(w.ctx, c.vmid, func() error { return s.applyUpdate(w.ctx, u, w.print) })
	})
}

// withConfigLock does something while it alone may change a VM's configuration.
func (s *Server) withConfigLock(ctx context.Context, vmid int, do func() error) error {
	release, err := s.locks.Exclusive(ctx, flock.ConfigFile(vmid), s.config.Pace.Timeout(pace.ConfigLockTimeout))
	if err != nil {
		return err
	}
	defer release()

	return do()
}

// planUpdate makes the checks that need no lock on the configuration.
func (s *Server) planUpdate(c *call) (*update, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	u := &update{call: c, settings: resolveCDROM(c.params.Without(notSettings...)), force: c.params.Bool("force", false)}

	for _, only := range []string{"skiplock"} {
		if c.params.Bool(only, false) {
			return nil, schema.BadParam(only, "Only root may use this option.")
		}
	}

	for _, key := range c.params.List("delete") {
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

	for _, key := range c.params.List("revert") {
		if !s.isSetting(key) {
			return nil, schema.BadParam("revert", "unknown option '%s'", key)
		}
	}

	if len(u.settings) == 0 && len(u.remove) == 0 && !c.params.Has("revert") {
		return nil, errors.New("no options specified")
	}

	return u, s.checkUpdate(u)
}

// isSetting reports whether a VM's configuration may have the key (QemuServer.pm, option_exists).
func (s *Server) isSetting(key string) bool {
	if slices.Contains([]string{"lock", "vmstate", "meta", "parent", "snaptime"}, key) {
		return true
	}

	method, ok := s.schema.Method("POST", createPath)
	if !ok {
		return false
	}

	_, known := schema.Lookup(method.Parameters, key)

	return known && !slices.Contains(notSettings, key)
}

func (s *Server) checkUpdate(u *update) error {
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

		card, err := s.parseCard(c.vmid, key, u.settings.Get(key))
		if err != nil {
			return err
		}

		cards[key] = card.String()
		u.settings[key] = schema.Scalar(card.String())
	}

	for _, names := range [][]string{u.remove, u.settings.Names()} {
		if err := s.checkSettings(c.identity, c.vmid, "", names); err != nil {
			return err
		}
	}

	for _, drive := range drives {
		if err := s.checkDriveStorage(c.identity, c.node, c.vmid, drive, ""); err != nil {
			return err
		}
	}

	return s.checkBridges(c.identity, cards)
}

// applyUpdate changes the configuration, whose lock is held.
func (s *Server) applyUpdate(ctx context.Context, u *update, report func(string, ...any)) error {
	if report == nil {
		report = func(string, ...any) {}
	}

	if err := s.checkCurrent(u); err != nil {
		return err
	}

	if err := s.wait(ctx, pace.ConfigWrite); err != nil {
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
func (s *Server) takeEffect(u *update) error {
	m, err := s.state.find(u.call.node, u.call.vmid)
	if err != nil {
		return err
	}

	m.Config.CleanupPending()
	s.changed()

	if m.Running {
		s.hotplug(m)
	} else {
		s.applyPending(m)
	}

	return nil
}

// locked does something with the state.
func (s *Server) locked(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return do()
}

// checkCurrent makes the checks against the configuration as it is now.
func (s *Server) checkCurrent(u *update) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.state.find(u.call.node, u.call.vmid)
	if err != nil {
		return err
	}

	if digest := u.call.params.Get("digest"); digest != "" && digest != m.Config.Digest() {
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
