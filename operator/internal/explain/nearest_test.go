package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/explain"
)

func TestTheNearestRow(t *testing.T) {
	t.Parallel()
	for text, near := range map[string]string{
		`zfs error: cannot create 'tank/vm-101-disk-0': pool I/O is currently suspended`:                  "zfs-full",
		`can't lock file '/var/lock/pve-manager/pve-migrate-101' - permission`:                            "storage-lock",
		`TASK ERROR: can't unbind/bind PCI group of '0000:01:00.0' to pci-stub`:                           "vfio-bind",
		`rpc error: code = FailedPrecondition desc = bootstrap can be performed on a node with etcd only`: "bootstrap-worker",
		`unable to connect to the Cilium operator`:                                                        "cilium-not-up",
		`Error: the release "x" has no releases that are deployed`:                                        "release-never-deployed",
	} {
		require.Empty(t, explain.Text(text), "%s is known", text)
		for range 3 { // the result must not depend on the order of a map
			found, isNear := explain.FindNearest(text)
			require.True(t, isNear, text)
			require.Equal(t, near, found.Name, "%s: %v", text, found.Shared)
			require.Equal(t, text, found.Said)
			require.GreaterOrEqual(t, len(found.Shared), 2, text)
			require.LessOrEqual(t, len(found.Shared), found.Of, text)
			require.NotRegexp(t, `\{[a-z]+\}`, found.Meaning+found.Do+found.Safe, text)
		}
	}
}

// TestTheNearestRowOfALog: the nearest line of a log counts, not the first one.
func TestTheNearestRowOfALog(t *testing.T) {
	t.Parallel()
	found, isNear := explain.FindNearest("something happened\n\nTASK ERROR: zfs error: cannot create 'tank/x': no such pool 'tank'\nand then it ended\n")
	require.True(t, isNear)
	require.Equal(t, "zfs-full", found.Name)
	require.Equal(t, "TASK ERROR: zfs error: cannot create 'tank/x': no such pool 'tank'", found.Said)
	require.Equal(t, "the pool has no room for VOLUME", found.Meaning)
}

func TestNothingIsNear(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "\n", "error: update failed", "error", "failed", "it does not work",
		"a sentence about clones and locks",
		"The quick brown fox jumps over the lazy dog.",
		"Segmentation fault (core dumped)",
		"¿por qué no funciona?",
		"0x0000005d 0xfffff803",
		"npm ERR! code ERESOLVE",
		"received an HTTP 500 response - Reason: an unheard of thing",
		`error waiting for VM clone: task "UPID:vmhost:1:2:3:qmclone:9000:em-infra@pve!x:" failed to complete with exit code: oops`,
		"rpc error: code = Unknown desc = oops",
	} {
		found, isNear := explain.FindNearest(text)
		require.False(t, isNear, "%q is near %s: %v", text, found.Name, found.Shared)
	}
}

// TestRowsAreNearTheirOwnErrors checks that a row is the nearest to its own errors in most cases. If two rows describe similar
// errors, the other one may be nearer.
func TestRowsAreNearTheirOwnErrors(t *testing.T) {
	t.Parallel()
	near, all := 0, 0
	for name, texts := range examples {
		for _, text := range texts {
			all++
			if found, isNear := explain.FindNearest(text); isNear && found.Name == name {
				near++
			}
		}
	}
	t.Logf("%d of %d", near, all)
	require.Greater(t, near*10, all*7)
}

func TestWhereToLook(t *testing.T) {
	t.Parallel()
	const always = 5
	for text, first := range map[string]string{
		"a sentence about nothing":                       "docs/errors.md",
		"TASK ERROR: zfs error: pool is suspended":       "journalctl -b -p warning on the host, and the task's log in Proxmox VE",
		"[talos] service[apid](Failed)":                  "talosctl -n ADDRESS dmesg, and the node's console in Proxmox VE",
		"pod x is not ready":                             "kubectl get events -A --sort-by=.lastTimestamp",
		"GitRepository is stalled":                       "flux get all -A, and flux logs --level=error",
		"urn:pulumi:k3s-dev::em-infra::x::y cannot grow": "`em-infra state list`",
	} {
		found := explain.Places(text)
		require.Equal(t, first, found[0].Where, text)
		require.GreaterOrEqual(t, len(found), always)
		for _, place := range found {
			require.NotEmpty(t, place.For)
		}
	}
}
