package config_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmlist"
)

func newConfigs(t *testing.T) *config.Service {
	t.Helper()

	return config.New(&host.Environment{
		Now: time.Now, Nodes: hardware.NewCluster([]hardware.Host{{Name: "pve"}, {Name: "pve2"}}), Guests: vmlist.New(), Locks: &flock.Locks{},
		Changed: func() {},
	})
}

// TestAConfigurationIsOnOneNode checks that a VM is on one node only, and that its ID cannot be used twice.
func TestAConfigurationIsOnOneNode(t *testing.T) {
	t.Parallel()

	s := newConfigs(t)
	locked := vmconfig.New()
	locked.Set("lock", "create")
	require.NoError(t, s.Reserve(t.Context(), "pve", 101, locked))

	err := s.Create("pve2", 101, vmconfig.New())
	require.EqualError(t, err, "VM 101 already exists on node 'pve'")

	var taken *config.TakenError

	require.ErrorAs(t, err, &taken)

	check := func(m *config.VM) error { return m.CheckLock(time.Now()) }
	require.EqualError(t, s.On("pve", 101, check), "VM is locked (create)")
	require.EqualError(t, s.On("pve2", 101, check), "Configuration file 'nodes/pve2/qemu-server/101.conf' does not exist")

	require.NoError(t, s.Unlock(t.Context(), 101))
	require.NoError(t, s.On("pve", 101, check))

	s.Delete(101)
	require.EqualError(t, s.Anywhere(101, check), "Configuration file 'nodes/pve/qemu-server/101.conf' does not exist")
}

// TestConfigurationsOutliveTheProcess saves configurations and restores them.
func TestConfigurationsOutliveTheProcess(t *testing.T) {
	t.Parallel()

	s := newConfigs(t)
	conf := vmconfig.New()
	conf.Set("memory", "2048")
	require.NoError(t, s.Create("pve", 101, conf))

	kept, release := s.Save()
	written, err := json.Marshal(kept)

	release()
	require.NoError(t, err)

	restored := newConfigs(t)
	require.NoError(t, restored.Restore(written, time.Now()))

	node, ok := restored.Node(101)
	require.True(t, ok)
	require.Equal(t, "pve", node)
	require.NoError(t, restored.On("pve", 101, func(m *config.VM) error {
		require.Equal(t, "2048", m.Config.Get("memory"))
		return nil
	}))
}
