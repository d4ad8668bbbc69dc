package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Methods returns the API methods that read a configuration.
func (s *Service) Methods() []api.Method {
	const one = settings.CreatePath + "/{vmid}"

	return []api.Method{
		api.Get(one+"/config", s.getConfig),
		api.Get(one+"/pending", s.getPending),
	}
}

// getConfig handles GET …/config. It returns the configuration with or without pending changes.
func (s *Service) getConfig(c *api.Call) (any, error) {
	if name := c.Params.Get("snapshot"); name != "" {
		return s.getConfigOf(c, name)
	}

	return s.show(c, func(m *VM) (map[string]string, error) {
		config := m.Config
		if !c.Params.Bool("current", false) {
			config = m.Config.WithPending()
		}

		shown := config.Shown()
		if lock := m.Lock(s.env.Now()); lock != "" {
			shown["lock"] = lock
		}

		return shown, nil
	})
}

// getConfigOf returns the configuration of a snapshot.
func (s *Service) getConfigOf(c *api.Call, name string) (any, error) {
	if c.Params.Bool("current", false) {
		const both = "cannot use 'snapshot' parameter with 'current'"
		return nil, &schema.ParamError{Errors: map[string]string{"snapshot": both, "current": both}}
	}

	return s.show(c, func(m *VM) (map[string]string, error) {
		taken, err := m.Snapshot(name)
		if err != nil {
			return nil, err
		}

		return taken.Shown(), nil
	})
}

// show returns settings of a VM, and the digest of the current ones.
func (s *Service) show(c *api.Call, settingsOf func(*VM) (map[string]string, error)) (any, error) {
	var shown map[string]string

	err := s.On(c.Node, c.VMID, func(m *VM) (err error) {
		if shown, err = settingsOf(m); err == nil {
			shown["digest"] = m.Config.Digest()
		}

		return err
	})
	if err != nil {
		return nil, err
	}

	return settings.NewReader(s.env).Typed(shown), nil
}

// pendingSetting is an entry of the list of pending changes.
type pendingSetting struct {
	Key     string `json:"key"`
	Value   string `json:"value,omitempty"`
	Pending string `json:"pending,omitempty"`
	Delete  int    `json:"delete,omitempty"`
}

// getPending handles GET …/pending.
func (s *Service) getPending(c *api.Call) (any, error) {
	list := []pendingSetting{}

	err := s.On(c.Node, c.VMID, func(m *VM) error {
		list = append(list, m.pendingSettings()...)
		return nil
	})

	return list, err
}

// pendingSettings returns all settings with their pending changes.
func (m *VM) pendingSettings() []pendingSetting {
	var list []pendingSetting

	keys := append(m.Config.Keys(), slices.Sorted(maps.Keys(m.Config.Pending))...)
	slices.Sort(keys)

	for _, key := range slices.Compact(keys) {
		line := pendingSetting{Key: key, Value: m.Config.Get(key), Pending: m.Config.Pending[key]}
		if key == "cipassword" {
			line.Value = strings.Repeat("*", 10)
		}

		if slices.Contains(m.Config.Deleted, key) {
			line.Delete = 1
		}

		list = append(list, line)
	}

	return list
}
