package e2e_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// reviewedPlan returns the fingerprint of the plan, which a second preview repeats. An up with it is refused if the inventory or the host has changed
// in the meantime.
func (r *rehearsal) reviewedPlan(preview string) string {
	r.t.Helper()
	found := regexp.MustCompile(`(?m)^the fingerprint of this plan, for up --plan: ([0-9a-f]{16})$`).FindStringSubmatch(preview)
	require.Len(r.t, found, 2, preview)
	comment := r.mustRun(2, "preview", "--lab", "--output", "markdown")
	require.Regexp(r.t, `(?m)^<!-- em-infra:`+r.stack+` -->\n### `+r.stack+`: 2 REPLACE, 2 UPGRADE, 1 CREATE\n\n\| \| \| what changes \| what that means \|\n`, comment)
	require.Contains(r.t, comment, "\n`em-infra up --stack "+r.stack+" --inventory "+r.inventory+" --lab --yes --plan "+found[1]+"` carries out this plan, and refuses if it is another one by then.\n")

	seen, inventory := len(r.calls()), r.inventoryText("cluster.yaml")
	refused := `\nthe plan is [0-9a-f]{16} by now, and not ` + found[1] + ": nothing was touched; look at `em-infra preview [^`]*` again, then give --plan the fingerprint that it shows\n"
	r.edit("cluster.yaml", "kernelArgs: [net.ifnames=0]", "kernelArgs: [net.ifnames=1]")
	require.Regexp(r.t, refused, r.mustRun(3, "up", "--lab", "--yes", "--plan", found[1]))
	r.writeInventory("cluster.yaml", inventory)
	r.set(102, "memory", 4096)
	ours := len(writes(r.calls()[seen:]))
	require.Regexp(r.t, refused, r.mustRun(3, "up", "--lab", "--yes", "--plan", found[1]))
	require.Len(r.t, writes(r.calls()[seen:]), ours, "nothing but the change by hand was written")
	r.set(102, "memory", 8192)
	return found[1]
}

// TestE2EAKernelArgumentComesToTheCanaryFirst: another kernel argument is another image, to which both nodes are upgraded in place. The
// canary is a worker, and the control plane waits until it has worked for the pause.
func TestE2EAKernelArgumentComesToTheCanaryFirst(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	before, clones := r.status(0).Machines, r.clones()
	r.edit("cluster.yaml", "kernelArgs: []", "kernelArgs: [net.ifnames=0]")
	r.writeInventory("cluster.yaml", r.inventoryText("cluster.yaml")+"upgrade: {canary: k3s-dev-worker-1, pauseSeconds: 30}\n")
	planned := r.mustRun(2, "preview", "--lab")
	for _, node := range []string{"k3s-dev-control-1", "k3s-dev-worker-1"} {
		require.Regexp(t, `UPGRADE +`+node+` +Talos v1\.12\.4, schematic [0-9a-f]{12} → [0-9a-f]{12} \(drain, reboot, about 3 min\)\n`, planned)
	}

	reviewed := r.reviewedPlan(planned)
	began := time.Now()
	r.mustRun(0, "up", "--lab", "--yes", "--plan", reviewed)
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
