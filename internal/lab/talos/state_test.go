package talos_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestFleetIsResumed: after a restart of the lab's process every machine is in the same state, in the same boot.
func TestFleetIsResumed(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "etcd")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)
	l.powerOn(103)
	l.waitStage(103, talos.StageMaintenance)
	l.powerOn(104)
	require.NoError(t, l.fleet.PowerOff(104))

	before, boot := l.fleet.Nodes(), c.bootID(101)
	members := c.members(101)

	l.reopen()

	l.eventually(func() bool { return sameNodes(before, l.fleet.Nodes()) }, "the nodes are not %v", before)
	c.waitAPI(101)
	require.Equal(t, boot, c.bootID(101))
	c.waitHealthy(101, "etcd")
	require.Equal(t, members, c.members(101))
}

func sameNodes(a, b []talos.Node) bool {
	if len(a) != len(b) {
		return false
	}

	for i := range a {
		if a[i].VMID != b[i].VMID || a[i].Stage != b[i].Stage || a[i].Cluster != b[i].Cluster || a[i].Bootstrapped != b[i].Bootstrapped {
			return false
		}
	}

	return true
}

// TestStateIsPrivate: the state contains the secrets of clusters.
func TestStateIsPrivate(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.controlPlaneUp("k3s-dev")

	files := 0

	require.NoError(t, filepath.WalkDir(l.config.StateDir, func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)

		info, err := entry.Info()
		require.NoError(t, err)

		if !entry.IsDir() {
			files++
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), path)
		}

		return nil
	}))
	require.Equal(t, 3, files, "a machine, a disk and the etcd members")
}

// TestLogHasNoSecrets: the log contains callers and methods, but no parameters and answers.
func TestLogHasNoSecrets(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	_, err := c.admin(101).Kubeconfig(t.Context())
	require.NoError(t, err)
	require.Regexp(t, `"method":"/machine.MachineService/Kubeconfig","roles":\["os:admin"\],"client":"grpc-go/[0-9.]+",`+
		`"peer":"127\.[0-9.:]+","code":"OK","ms":[0-9]`, l.log.String())

	for _, secret := range []string{c.bundle.TrustdInfo.Token, c.bundle.Cluster.Secret, c.bundle.Secrets.BootstrapToken, "PRIVATE KEY"} {
		require.NotContains(t, l.log.String(), secret)
	}
}
