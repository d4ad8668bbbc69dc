package snapshot

import (
	"maps"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
)

// snapshotEntry is a snapshot in the list. The last entry is the current state.
type snapshotEntry struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parent      string `json:"parent,omitempty"`
	Taken       *int64 `json:"snaptime,omitempty"`
	Memory      *int   `json:"vmstate,omitempty"`
	Running     *int   `json:"running,omitempty"`
	Digest      string `json:"digest,omitempty"`
}

// listSnapshots handles GET …/snapshot (API2/Qemu.pm, snapshot_list).
func (s *Service) listSnapshots(c *api.Call) (any, error) {
	var list []snapshotEntry

	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		for _, name := range slices.Sorted(maps.Keys(m.Snapshots)) {
			taken := m.Snapshots[name]
			list = append(list, snapshotEntry{
				Name: name, Description: taken.Description, Parent: taken.Config.Get("parent"),
				Taken: &taken.Taken, Memory: new(api.Flag(taken.State != "")),
			})
		}

		list = append(list, snapshotEntry{
			Name: "current", Description: "You are here!", Parent: m.Config.Get("parent"), Running: new(api.Flag(s.processes.Running(m.ID))),
			Digest: m.Config.Digest(),
		})

		return nil
	})

	return list, err
}

// snapshotIndex handles GET …/snapshot/{snapname}.
func (s *Service) snapshotIndex(*api.Call) (any, error) {
	return api.Folders("cmd", "rollback", "config"), nil
}

// getSnapshot handles GET …/snapshot/{snapname}/config. It returns the configuration and the properties of the snapshot.
func (s *Service) getSnapshot(c *api.Call) (any, error) {
	var shown map[string]string

	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		taken, err := m.Snapshot(c.Params.Get("snapname"))
		if err != nil {
			return err
		}

		shown = taken.Shown()

		return nil
	})
	if err != nil {
		return nil, err
	}

	return s.settings.Typed(shown), nil
}

// describeSnapshot handles PUT …/snapshot/{snapname}/config.
func (s *Service) describeSnapshot(c *api.Call) (any, error) {
	if !c.Params.Has("description") {
		return nil, nil
	}

	return nil, s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		if err := m.CheckLock(s.env.Now()); err != nil {
			return err
		}

		taken, err := m.Snapshot(c.Params.Get("snapname"))
		if err != nil {
			return err
		}

		taken.Description = c.Params.Get("description")
		s.env.Changed()

		return nil
	})
}
