package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// TestE2EAKernelArgumentComesToTheCanaryFirst: another kernel argument is another image, to which both nodes are upgraded in place. The
// canary is a worker, and the control plane waits until it has worked for the pause.
func TestE2EAKernelArgumentComesToTheCanaryFirst(t *testing.T) {
	t.Parallel()
	r := standing(t, pair)
	before, clones := r.status(0).Machines, r.clones()
	r.edit("cluster.yaml", "kernelArgs: []", "kernelArgs: [net.ifnames=0]")
	r.writeInventory("cluster.yaml", r.inventoryText("cluster.yaml")+"upgrade: {canary: k3s-dev-worker-1, pauseSeconds: 30}\n")
	planned := r.mustRun(2, "preview", "--lab")
	for _, node := range []string{"k3s-dev-control-1", "k3s-dev-worker-1"} {
		require.Regexp(t, `UPGRADE +`+node+` +Talos v1\.12\.4, schematic [0-9a-f]{12} → [0-9a-f]{12} \(drain, reboot, about 3 min\)\n`, planned)
	}

	began := time.Now()
	r.mustRun(0, "up", "--lab", "--yes")
	outages := labstack.Outages(r.talosLog(began))
	require.Len(t, outages, 2)
	require.Equal(t, []int{102, 101}, []int{outages[0].VMID, outages[1].VMID}, "the canary goes first")
	require.GreaterOrEqual(t, outages[1].From.Sub(outages[0].To), 30*time.Second, "the pause")
	require.Equal(t, clones, r.clones(), "no machine is made anew")
	for i, machine := range r.status(0).Machines {
		require.Equal(t, before[i].Node.Talos, machine.Node.Talos)
		require.NotEqual(t, before[i].Node.Schematic, machine.Node.Schematic)
		require.Equal(t, machine.Image.Schematic, machine.Node.Schematic, "what the inventory wants")
	}
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	r.mustRun(0, "preview", "--lab")
}
