package e2e_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// TestE2EAPowerCutInAnUpgrade switches everything off while Kubernetes, and then while Talos is upgraded, on the only control plane. One
// up ends each upgrade.
func TestE2EAPowerCutInAnUpgrade(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	both := []string{"k3s-dev-control-1", "k3s-dev-worker-1"}

	r.edit("cluster.yaml", "version: v1.35.4", "version: v1.35.6")
	r.cutsThePowerAt("kubelet") // of the node whose kubelet is upgraded first
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(t, []string{"v1.35.6", "v1.35.6"}, r.kubelets())
	require.Equal(t, []string{"v1.35.6"}, r.images("kube-apiserver"))
	r.nodesAreReady(both...)
	r.mustRun(0, "preview", "--lab")

	r.edit("cluster.yaml", "version: v1.12.4", "version: v1.12.11")
	r.cutsThePowerAt("upgrade")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(t, []string{"v1.12.11", "v1.12.11"}, r.releases())
	r.nodesAreReady(both...)
	for _, node := range both {
		require.False(t, r.isCordoned(node), node)
	}
	r.mustRun(0, "preview", "--lab")
}

// cutsThePowerAt begins an up, and kills it and its host after a step of a node. Then the host is switched on again, and with it its
// machines.
func (r *rehearsal) cutsThePowerAt(step string) {
	r.t.Helper()
	began := time.Now()
	kill := r.startToKill("up", "--lab", "--yes")
	r.eventually("a node has come to "+step, func() bool {
		return slices.ContainsFunc(r.talosLog(began), func(line labstack.NodeLine) bool { return line.Step == step })
	})
	all, err := labstack.Workers(r.stack)
	require.NoError(r.t, err)
	hosts := slices.DeleteFunc(all, func(w labstack.Worker) bool { return w.Program() != "exe" || !slices.Contains(w.Arguments, "serve") })
	require.Len(r.t, hosts, 1)
	require.NoError(r.t, syscall.Kill(hosts[0].PID, syscall.SIGKILL))
	kill()
	r.mustRun(0, "lab", "start")
}
