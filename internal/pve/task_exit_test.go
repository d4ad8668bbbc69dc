package pve_test

import (
	"testing"

	"github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

// TestATaskWithWarningsHasDoneItsWork: only any other exit status is a failure.
func TestATaskWithWarningsHasDoneItsWork(t *testing.T) {
	t.Parallel()
	for exit, failed := range map[string]bool{
		"OK":                              false,
		"WARNINGS: 2":                     false,
		"WARNING":                         true,
		"unexpected status":               true,
		"VM 101 already running":          true,
		"interrupted by signal":           true,
		"command 'x' failed: WARNINGS: 1": true,
	} {
		require.Equal(t, failed, pve.HasFailed(&proxmox.Task{IsFailed: exit != "OK", ExitStatus: exit}), exit)
	}
}
