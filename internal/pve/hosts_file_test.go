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

// TestALineThatProxmoxDoesNotWrite: a person may have written it, and Proxmox VE refuses the whole file for it, so it is named before anything is changed.
func TestALineThatProxmoxDoesNotWrite(t *testing.T) {
	t.Parallel()
	for line, refusal := range map[string]string{
		"10.0.0.1 my_host": `/etc/hosts of vmhost has the line "10.0.0.1 my_host", for which Proxmox VE refuses to write the whole file: correct the line on vmhost, then run again`,
		"fe80::1%vmbr0 x":  `/etc/hosts of vmhost has the line "fe80::1%vmbr0 x", for which Proxmox VE refuses to write the whole file: correct the line on vmhost, then run again`,
		"nas":              `/etc/hosts of vmhost has the line "nas", for which Proxmox VE refuses to write the whole file: correct the line on vmhost, then run again`,
	} {
		require.EqualError(t, pve.CheckHostsFile("127.0.0.1 localhost\n"+line+"\n", "vmhost"), refusal)
	}
	require.NoError(t, pve.CheckHostsFile("  10.0.0.1 nas # a_box\n10.0.0.2 # old\n# my_host\n\n", "vmhost"))
}
