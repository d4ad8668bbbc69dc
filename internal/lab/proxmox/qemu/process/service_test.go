package process_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
)

// TestWhatAHostGives starts processes until the host's resources are used up, and checks that failed and ended ones release
// theirs.
func TestWhatAHostGives(t *testing.T) {
	t.Parallel()

	const hostMiB = 4096

	gpu := []string{"0000:01:00.0"}
	s := process.New()
	require.NoError(t, s.Begin(101, process.Claim{Node: "pve", MemoryMiB: 2048, PCI: gpu}, hostMiB))
	require.EqualError(t, s.Begin(102, process.Claim{Node: "pve", MemoryMiB: 1024, PCI: gpu}, hostMiB),
		"PCI device '0000:01:00.0' already in use by VMID '101'")
	require.NoError(t, s.Begin(103, process.Claim{Node: "pve2", MemoryMiB: hostMiB, PCI: gpu}, hostMiB))
	require.ErrorIs(t, s.Begin(102, process.Claim{Node: "pve", MemoryMiB: 2049}, hostMiB), process.ErrNoMemory)
	require.NoError(t, s.Begin(102, process.Claim{Node: "pve", MemoryMiB: 2048}, hostMiB))
	require.Equal(t, hostMiB, s.MemoryMiB("pve"))
	require.True(t, s.InUse(102, "pve", gpu))
	require.False(t, s.InUse(101, "pve", gpu), "its own")

	s.Fail(101)
	require.False(t, s.InUse(102, "pve", gpu))
	require.Equal(t, 2048, s.MemoryMiB("pve"))
}

// TestTheLifeOfAProcess follows a process from its start to its end, on two nodes.
func TestTheLifeOfAProcess(t *testing.T) {
	t.Parallel()

	at := time.Unix(1000, 0)
	s := process.New()
	require.NoError(t, s.Begin(101, process.Claim{Node: "pve", MemoryMiB: 512}, 1024))
	require.False(t, s.Running(101), "it starts")

	s.RequestReboot(101, true)
	_, _, ok := s.Ended(101)
	require.False(t, ok, "it does not run yet")

	s.Started(101, 4711, at, at.Add(time.Minute))
	require.True(t, s.Running(101))

	_, shown := s.Status(101, at)
	require.False(t, shown, "the host does not show it yet")

	status, shown := s.Status(101, at.Add(time.Minute))
	require.True(t, shown)
	require.Equal(t, process.Status{PID: 4711, Since: at, MemoryMiB: 512}, status)

	s.Moved(101, "pve2")
	s.RequestReboot(101, true)

	node, again, ok := s.Ended(101)
	require.Equal(t, []any{"pve2", true, true}, []any{node, again, ok})
	require.False(t, s.Running(101))
	require.Zero(t, s.MemoryOf(101))
}

// TestAPowerCutEndsAllProcesses checks the list of VMs that ran, sorted by ID.
func TestAPowerCutEndsAllProcesses(t *testing.T) {
	t.Parallel()

	s := process.New()
	for _, vmid := range []int{103, 101, 102} {
		require.NoError(t, s.Begin(vmid, process.Claim{Node: "pve", MemoryMiB: 1}, 1024))
	}

	s.Started(103, 1, time.Time{}, time.Time{})
	s.Started(101, 2, time.Time{}, time.Time{})
	require.Equal(t, []int{101, 103}, s.EndAll())
	require.Zero(t, s.MemoryMiB("pve"))
}
