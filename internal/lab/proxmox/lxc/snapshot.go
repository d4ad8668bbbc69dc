package lxc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// entry is a snapshot in the list. The last entry is the current state.
type entry struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parent      string `json:"parent,omitempty"`
	Taken       *int64 `json:"snaptime,omitempty"`
	Running     *int   `json:"running,omitempty"`
	Digest      string `json:"digest,omitempty"`
}

// listSnapshots handles GET …/snapshot (pve-container API2/LXC/Snapshot.pm, list).
func (s *Service) listSnapshots(c *api.Call) (any, error) {
	list := []entry{}

	err := s.on(c.Node, c.VMID, func(ct *container) error {
		for _, name := range slices.Sorted(maps.Keys(ct.Snapshots)) {
			taken := ct.Snapshots[name]
			list = append(list, entry{
				Name: name, Description: taken.Description, Parent: taken.Config.Get("parent"), Taken: &taken.Taken,
			})
		}

		list = append(list, entry{
			Name: "current", Description: "You are here!", Parent: ct.Config.Get("parent"), Running: new(api.Flag(s.isRunning(ct.ID))),
			Digest: ct.Config.Digest(),
		})

		return nil
	})

	return list, err
}

// takeSnapshot handles POST …/snapshot (pve-guest-common AbstractConfig.pm, snapshot_create).
func (s *Service) takeSnapshot(c *api.Call) (any, error) {
	name := c.Params.Get("snapname")
	if name == "current" || strings.EqualFold(name, "pending") {
		return nil, fmt.Errorf("unable to use snapshot name '%s' (reserved name)", strings.ToLower(name))
	}

	return s.fork(c, "vzsnapshot", func(w *task.Worker) error {
		return s.inSteps(w, c, "snapshot",
			func(ct *container) error { return s.prepareSnapshot(c, ct, name) },
			func(ct *container) error {
				ct.Config.Set("parent", name)
				return s.eachVolume(ct, func(id string) error { return s.parts.Storages.Snapshot(ct.Node, id, name) })
			})
	})
}

// inSteps makes a change in two steps, with the time that it takes between them. In between the configuration is locked.
func (s *Service) inSteps(w *task.Worker, c *api.Call, lock string, prepare, commit func(*container) error) error {
	return s.withLock(w.Ctx, c.VMID, lockLimit, func() error {
		err := s.on(c.Node, c.VMID, func(ct *container) error {
			if err := ct.checkLock(); err != nil {
				return err
			}

			if err := prepare(ct); err != nil {
				return err
			}

			ct.Config.Set("lock", lock)

			return nil
		})
		if err != nil {
			return err
		}

		if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
			return err
		}

		return s.on(c.Node, c.VMID, func(ct *container) error {
			ct.Config.Delete("lock")
			s.env.Changed()

			return commit(ct)
		})
	})
}

// prepareSnapshot checks whether a snapshot is possible, and keeps the configuration.
func (s *Service) prepareSnapshot(c *api.Call, ct *container, name string) error {
	if ct.Config.Template() {
		return errors.New("you can't take a snapshot if it's a template")
	}

	if ct.Snapshots[name] != nil {
		return fmt.Errorf("snapshot name '%s' already used", name)
	}

	able, err := s.canSnapshot(ct)
	if err == nil && !able {
		err = errors.New("snapshot feature is not available")
	}

	if err != nil {
		return err
	}

	kept := &snapshot{Config: vmconfig.New(), Description: c.Params.Get("description"), Taken: s.env.Now().Unix()}

	for _, key := range ct.Config.Keys() {
		if key != "lock" && key != "description" && !unusedKey.MatchString(key) {
			kept.Config.Set(key, ct.Config.Get(key))
		}
	}

	if ct.Snapshots == nil {
		ct.Snapshots = map[string]*snapshot{}
	}

	ct.Snapshots[name] = kept

	return nil
}

// hasFeature handles GET …/feature (pve-container API2/LXC.pm, vm_feature; LXC/Config.pm, has_feature).
func (s *Service) hasFeature(c *api.Call) (any, error) {
	if asked := c.Params.Get("feature"); asked != "snapshot" || c.Params.Has("snapname") {
		return nil, fmt.Errorf("the feature %s, or that of a snapshot, is not emulated", asked)
	}

	able := false

	err := s.on(c.Node, c.VMID, func(ct *container) (err error) {
		able, err = s.canSnapshot(ct)
		return err
	})

	return map[string]int{"hasFeature": api.Flag(able)}, err
}

// canSnapshot reports whether the storages of all volumes support snapshots.
func (s *Service) canSnapshot(ct *container) (bool, error) {
	able := true

	err := s.eachVolume(ct, func(id string) error {
		can, err := s.parts.Storages.CanSnapshot(ct.Node, id)
		able = able && can

		return err
	})

	return able, err
}

// eachVolume calls do for the volumes of a container.
func (s *Service) eachVolume(ct *container, do func(id string) error) error {
	for _, key := range volumes(ct.Config.Values, false) {
		if err := do(s.volumeOf(key, ct.Config.Get(key))); err != nil {
			return err
		}
	}

	return nil
}

// find returns one of the snapshots.
func (ct *container) find(name string) (*snapshot, error) {
	taken := ct.Snapshots[name]
	if taken == nil {
		return nil, fmt.Errorf("snapshot '%s' does not exist", name)
	}

	return taken, nil
}

// deleteSnapshot handles DELETE …/snapshot/{snapname}. The children of a deleted snapshot become those of its parent.
func (s *Service) deleteSnapshot(c *api.Call) (any, error) {
	name := c.Params.Get("snapname")

	return s.fork(c, "vzdelsnapshot", func(w *task.Worker) error {
		return s.inSteps(w, c, "snapshot-delete",
			func(ct *container) error {
				_, err := ct.find(name)
				return err
			},
			func(ct *container) error {
				parent := ct.Snapshots[name].Config.Get("parent")
				delete(ct.Snapshots, name)

				for _, config := range append([]*vmconfig.Config{ct.Config}, configs(ct)...) {
					switch {
					case config.Get("parent") != name:
					case parent == "":
						config.Delete("parent")
					default:
						config.Set("parent", parent)
					}
				}

				return s.eachVolume(ct, func(id string) error { return s.parts.Storages.DropSnapshot(ct.Node, id, name) })
			})
	})
}

// describeSnapshot handles PUT …/snapshot/{snapname}/config (pve-container API2/LXC/Snapshot.pm, update_snapshot_config).
func (s *Service) describeSnapshot(c *api.Call) (any, error) {
	return nil, s.on(c.Node, c.VMID, func(ct *container) error {
		if err := ct.checkLock(); err != nil {
			return err
		}

		taken, err := ct.find(c.Params.Get("snapname"))
		if err != nil || !c.Params.Has("description") {
			return err
		}

		taken.Description = c.Params.Get("description")
		s.env.Changed()

		return nil
	})
}

// configs returns the configurations of the snapshots.
func configs(ct *container) []*vmconfig.Config {
	var list []*vmconfig.Config
	for _, name := range slices.Sorted(maps.Keys(ct.Snapshots)) {
		list = append(list, ct.Snapshots[name].Config)
	}

	return list
}

// rollBack handles POST …/snapshot/{snapname}/rollback. A running container is stopped; it starts again if that is asked for.
func (s *Service) rollBack(c *api.Call) (any, error) {
	name := c.Params.Get("snapname")

	return s.fork(c, "vzrollback", func(w *task.Worker) error {
		err := s.inSteps(w, c, "rollback",
			func(ct *container) error {
				if _, err := ct.find(name); err != nil {
					return err
				}

				delete(s.running, ct.ID)

				return s.eachVolume(ct, func(id string) error { return s.parts.Storages.CheckRollback(ct.Node, id, name) })
			},
			func(ct *container) error {
				description := ct.Config.Get("description")
				ct.Config = ct.Snapshots[name].Config.Clone()
				ct.Config.Set("parent", name)

				if description != "" {
					ct.Config.Set("description", description)
				}

				return nil
			})
		if err != nil || !c.Params.Bool("start", false) {
			return err
		}

		return s.start(w, c.Node, c.VMID)
	})
}
