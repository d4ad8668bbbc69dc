package lxc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// update is a change of a container's configuration.
type update struct {
	call   *api.Call
	given  schema.Params
	remove []string
	revert []string
}

// updateContainer handles PUT …/config (pve-container API2/LXC/Config.pm, update_vm).
func (s *Service) updateContainer(c *api.Call) (any, error) {
	u := update{
		call: c, given: c.Params.Without("node", "vmid", "digest", "delete", "revert"), remove: c.Params.List("delete"),
		revert: c.Params.List("revert"),
	}
	if len(u.given)+len(u.remove)+len(u.revert) == 0 {
		return nil, fmt.Errorf("no options specified")
	}

	return nil, s.withLock(c.Ctx, c.VMID, lockLimit, func() error {
		if err := s.on(c.Node, c.VMID, func(ct *container) error { return s.checkUpdate(u, ct) }); err != nil {
			return err
		}

		if err := s.env.Wait(c.Ctx, pace.ConfigWrite); err != nil {
			return err
		}

		return s.apply(u)
	})
}

// checkUpdate runs the checks against the current configuration.
func (s *Service) checkUpdate(u update, ct *container) error {
	if err := ct.checkLock(); err != nil {
		return err
	}

	if err := ct.checkDigest(u.call.Params.Get("digest")); err != nil {
		return err
	}

	for _, key := range u.remove {
		switch {
		case !s.isSetting(key):
			return schema.BadParam("delete", "unknown option '%s'", key)
		case u.given.Has(key):
			return schema.BadParam("delete", "you can't use '-%s' and -delete %s' at the same time", key, key)
		}
	}

	for _, key := range u.revert {
		if !s.isSetting(key) {
			return schema.BadParam("revert", "unknown option '%s'", key)
		}
	}

	return s.check(change{
		identity: u.call.Identity, node: u.call.Node, vmid: ct.ID, old: ct.Config, unprivileged: ct.Config.Flag("unprivileged"),
	}, u.given, slices.Concat(u.remove, u.revert))
}

// apply records the changes, and applies them as far as a running container takes them.
func (s *Service) apply(u update) error {
	m := maker{s: s, w: &task.Worker{Ctx: u.call.Ctx, Info: task.Info{Node: u.call.Node, VMID: u.call.VMID}}, node: u.call.Node, vmid: u.call.VMID}
	mounts := map[string]string{}

	for _, key := range volumes(given(u.given), false) {
		if err := s.checkMountChange(u, key); err != nil {
			return err
		}

		text, err := m.make(key, u.given.Get(key))
		if err != nil {
			m.undo()
			return err
		}

		mounts[key] = text
	}

	err := s.on(u.call.Node, u.call.VMID, func(ct *container) error { return s.record(u, ct, mounts) })
	if err != nil {
		m.undo()
	}

	return err
}

func given(params schema.Params) map[string]string {
	values := map[string]string{}
	for _, key := range params.Names() {
		values[key] = params.Get(key)
	}

	return values
}

// checkMountChange returns an error for a mount point that may not be changed, or on a storage for other content.
func (s *Service) checkMountChange(u update, key string) error {
	err := s.on(u.call.Node, u.call.VMID, func(ct *container) error {
		return ct.checkProtection(fmt.Sprintf("can't update CT %d drive '%s'", ct.ID, key))
	})
	if err != nil {
		return err
	}

	values, err := s.parse(key, u.given.Get(key))
	if err != nil {
		return err
	}

	id, _, _ := strings.Cut(values["volume"], ":")

	st, err := s.parts.Storages.On(id, u.call.Node)
	if err == nil && !st.Holds(storage.RootDir) {
		err = fmt.Errorf("storage '%s' does not allow content type 'rootdir' (Container)", id)
	}

	return err
}

// record writes the changes into the configuration (LXC/Config.pm, update_pct_config).
func (s *Service) record(u update, ct *container, mounts map[string]string) error {
	for _, key := range u.revert {
		delete(ct.Config.Pending, key)
		ct.Config.Deleted = slices.DeleteFunc(ct.Config.Deleted, func(k string) bool { return k == key })
	}

	for _, key := range u.remove {
		if err := checkRemoval(ct, key); err != nil {
			return err
		}

		ct.Config.DeletePending(key)
	}

	for _, key := range u.given.Names() {
		value, isMount := mounts[key]
		if !isMount {
			var err error
			if value, err = s.normal(ct.ID, key, u.given.Get(key)); err != nil {
				return err
			}
		}

		if key == "unprivileged" {
			return fmt.Errorf("unable to modify read-only option: '%s'", key)
		}

		ct.Config.SetPending(key, value)
	}

	ct.Config.CleanupPending()
	s.takeEffect(ct)
	s.env.Changed()

	return nil
}

func checkRemoval(ct *container, key string) error {
	switch {
	case key == "memory" || key == "rootfs" || key == "ostype":
		return fmt.Errorf("unable to delete required option '%s'", key)
	case key == "unprivileged":
		return fmt.Errorf("unable to delete read-only option: '%s'", key)
	case mountKey.MatchString(key) || unusedKey.MatchString(key):
		return ct.checkProtection(fmt.Sprintf("can't remove CT %d drive '%s'", ct.ID, key))
	default:
		return nil
	}
}

// atOnce are the settings that a running container takes: those of the host alone, and limits of its control group (LXC/Config.pm,
// LXC_FASTPLUG_OPTIONS and vmconfig_hotplug_pending).
var atOnce = []string{
	"description", "onboot", "startup", "protection", "hostname", "hookscript", "cores", "tags", "lock", "cpulimit", "cpuunits",
	"memory", "swap",
}

// takeEffect applies pending changes: all of them if the container is off.
func (s *Service) takeEffect(ct *container) {
	running := s.isRunning(ct.ID)

	for _, key := range slices.Clone(ct.Config.Deleted) {
		if running && !slices.Contains(atOnce, key) && !vmconfig.IsNetwork(key) && !unusedKey.MatchString(key) {
			continue
		}

		s.remove(ct, key)
	}

	for key, value := range ct.Config.Pending {
		// A new mount point is mounted; one that is there cannot be replaced while it is in use.
		added := strings.HasPrefix(key, "mp") && !ct.Config.Has(key)
		if !running || slices.Contains(atOnce, key) || vmconfig.IsNetwork(key) || added {
			ct.Config.Set(key, value)
			delete(ct.Config.Pending, key)
		}
	}
}

// remove removes a setting. The volume of a mount point stays as an unused one, an unused one is freed.
func (s *Service) remove(ct *container, key string) {
	volume := s.volumeOf(key, ct.Config.Get(key))
	ct.Config.Delete(key)
	ct.Config.Deleted = slices.DeleteFunc(ct.Config.Deleted, func(k string) bool { return k == key })

	switch {
	case unusedKey.MatchString(key):
		s.parts.Storages.Free(ct.Node, volume)
	case mountKey.MatchString(key):
		for i := 0; ; i++ {
			if unused := fmt.Sprintf("unused%d", i); !ct.Config.Has(unused) {
				ct.Config.Set(unused, volume)
				return
			}
		}
	}
}
