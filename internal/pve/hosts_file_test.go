package pve_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

// TestACommentBehindNames: a person may write one, and Proxmox VE refuses the whole file for it, so it gets a line of its own.
func TestACommentBehindNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "127.0.0.1 localhost\n# a box\n192.168.20.4  nas\n\nfe00::0\n",
		pve.ReadHostsFile("127.0.0.1 localhost\r\n192.168.20.4  nas  # a box\n\nfe00::0\n"))
}
