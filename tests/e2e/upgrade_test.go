package e2e_test

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/stacks"
	"github.com/em-infra/em-infra/tests/labstack"
)

// TestE2EUpgrade moves three control planes and two workers to another release of Talos: by a run that is killed while the first
// node is upgraded, by one that stops at a node that went back to its former release, and by one that ends it.
func TestE2EUpgrade(t *testing.T) {
	t.Parallel()
	r := standing(t, five)
	kept := r.writesObject("before-v1-12-10")

	r.edit("cluster.yaml", "version: v1.12.4", "version: v1.12.10")
	r.mustRun(2, "preview", "--lab")
	began := time.Now()
	r.killsACanary("k3s-dev-worker-2", 112)

	r.mustRun(0, "lab", "fault", "set", "upgrade-reverted", "--vm", "111", "--times", "1")
	output := r.mustRun(1, "up", "--lab", "--yes")
	require.Contains(t, output, "k3s-dev-worker-1 was rolled back: it runs v1.12.4 (schematic ")
	require.Contains(t, output, "Talos went back to the slot before")
	require.Equal(t, []string{"v1.12.10", "v1.12.10", "v1.12.10", "v1.12.4"}, r.releases()[:4], "control planes go first")
	r.mustRun(0, "lab", "fault", "clear")

	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(t, slices.Repeat([]string{"v1.12.10"}, 5), r.releases())
	r.upgradedOneAfterTheOther(r.talosLog(began), 6) // one of them went back
	r.nodesAreReady(fiveNodes...)
	r.mustRun(0, "preview", "--lab")

	r.goesBackAndForth("k3s-dev-worker-2", "v1.12.4", "v1.12.10")
	kept()
}

// TestE2EUpgradeByPlainPulumi moves the same nodes by a plain Pulumi, which also finishes what a killed run has left.
func TestE2EUpgradeByPlainPulumi(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, five)
	kept := r.writesObject("before-v1-12-11")

	r.edit("cluster.yaml", "version: v1.12.4", "version: v1.12.11")
	began := time.Now()
	r.leavesCordoned("k3s-dev-worker-2", "v1.12.11")
	r.nodesAreReady(fiveNodes...)
	stack := r.plainEngineWith(stacks.Options{})
	_, err := stack.Up(t.Context(), optup.ProgressStreams(io.Discard))
	require.NoError(t, err)
	require.False(t, r.isCordoned("k3s-dev-worker-2"))
	require.Equal(t, slices.Repeat([]string{"v1.12.11"}, 5), r.releases())
	r.upgradedOneAfterTheOther(r.talosLog(began), 5)
	r.nodesAreReady(fiveNodes...)
	r.mustRun(0, "preview", "--lab")
	kept()
}

// killsACanary ends an up while the first node is being upgraded, which is the canary.
func (r *rehearsal) killsACanary(node string, vmid int) {
	r.t.Helper()
	began := time.Now()
	kill := r.startToKill("up", "--lab", "--yes", "--canary", node)
	upgraded := func(line labstack.NodeLine) bool { return line.Step == "upgrade" }
	r.eventually("a node is upgraded", func() bool { return slices.ContainsFunc(r.talosLog(began), upgraded) })
	kill()
	lines := r.talosLog(began)
	require.Equal(r.t, vmid, lines[slices.IndexFunc(lines, upgraded)].VMID)
}

// leavesCordoned does to a node what a run leaves that is killed while the node boots its new release.
func (r *rehearsal) leavesCordoned(node, version string) {
	r.t.Helper()
	patch := `{"metadata":{"annotations":{"` + nodeops.CordonAnnotation + `":"true"}},"spec":{"unschedulable":true}}`
	_, err := r.kubernetes().CoreV1().Nodes().Patch(r.t.Context(), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(r.t, err)
	address, text := r.addressOf(node), []byte(r.read(filepath.Join(r.dir(), "talosconfig")))
	seen, err := nodeops.LookAt(r.t.Context(), text, address)
	require.NoError(r.t, err)
	require.NoError(r.t, nodeops.Ask(r.t.Context(), text, address, func(ctx context.Context, api *client.Client) error {
		_, err := api.UpgradeWithOptions(ctx, client.WithUpgradeImage("factory.talos.dev/nocloud-installer/"+seen.Release.Schematic+":"+version))
		return err
	}))
	r.eventually(node+" runs "+version, func() bool {
		now, err := nodeops.LookAt(r.t.Context(), text, address)
		return err == nil && now.Release.Version == version
	})
	require.True(r.t, r.isCordoned(node), "Talos takes its own cordons back only")
}

// goesBackAndForth rolls a node back to its former release, which the next up sees and takes back.
func (r *rehearsal) goesBackAndForth(node, former, release string) {
	r.t.Helper()
	output := r.mustRun(0, "node", "rollback", "--lab", "--yes", node)
	require.Contains(r.t, output, node+" runs "+former+" (schematic ")
	require.Equal(r.t, former, r.releases()[4])
	r.nodesAreReady(fiveNodes...)
	require.Regexp(r.t, "UPGRADE +"+node+" +Talos "+former+" → "+release, r.mustRun(2, "preview", "--lab"))
	r.mustRun(0, "up", "--lab", "--yes", "--only-node", node)
	require.Equal(r.t, slices.Repeat([]string{release}, 5), r.releases())
	r.mustRun(0, "preview", "--lab")
}

// releases returns the release that each node runs, in the order of the inventory.
func (r *rehearsal) releases() []string {
	r.t.Helper()
	var found []string
	for _, machine := range r.status(0).Machines {
		found = append(found, machine.Node.Talos)
	}
	return found
}

// upgradedOneAfterTheOther requires that many outages, of which no two overlap, and returns them.
func (r *rehearsal) upgradedOneAfterTheOther(lines []labstack.NodeLine, count int) []labstack.Outage {
	r.t.Helper()
	outages := labstack.Outages(lines)
	require.Len(r.t, outages, count)
	for i, outage := range outages {
		require.False(r.t, outage.To.IsZero())
		if i > 0 {
			require.False(r.t, outage.From.Before(outages[i-1].To), "%v and %v", outages[i-1], outage)
		}
	}
	return outages
}
