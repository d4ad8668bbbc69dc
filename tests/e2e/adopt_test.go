package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/tests/labstack"
)

// TestE2EALostStateIsAdopted: the state and all backups of it are gone, and the cluster runs, with an addon. A run that is killed, a dry
// run and refusals write nothing. Then the state is back, with the same resources, and the cluster has not noticed. When a machine is
// gone as well, the others are adopted, and the next up makes it again.
func TestE2EALostStateIsAdopted(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-adopt")
	require.NoError(t, os.CopyFS(filepath.Join(r.inventory, "flux2"), os.DirFS(filepath.Join(r.root, "tests", "charts", "flux-like"))))
	r.writeInventory("cluster.yaml", r.inventoryText("cluster.yaml")+"addons:\n  flux: {chart: {path: flux2}}\n")
	r.mustRun(0, "up", "--lab", "--yes")
	kept := r.writesObject("canary")
	had, boots := r.urns(), r.boots()
	bundle := r.writeBundle()
	require.Contains(t, r.mustRun(3, "adopt", "--lab"), "the state of stack "+r.stack+" has 3 machines: look at `")

	require.NoError(t, os.RemoveAll(filepath.Join(r.dir(), "state", ".pulumi")))
	require.Contains(t, r.mustRun(3, "adopt", "--lab"), " has backups of its state, which say more than the host does: ")
	r.losesItsState()
	began, seen := time.Now(), len(r.calls())

	draft := filepath.Join(r.dir(), "pulumi-home", "adoption", ".pulumi", "stacks", "em-infra", r.stack+".json")
	kill := r.startToKill("adopt", "--lab")
	r.eventually("machine secrets are recorded", func() bool {
		text, err := os.ReadFile(draft)
		return err == nil && strings.Contains(string(text), "::k3s-dev-secrets")
	})
	kill()
	require.Contains(t, r.mustRun(0, "adopt", "--lab", "--dry-run"), "nothing was written\n")
	require.NoFileExists(t, r.stateFile())
	r.refusesToAdopt(bundle)
	r.adoptIsKilledBeforeItsImport(bundle)

	output := r.mustRun(0, "adopt", "--lab", "--secrets", bundle)
	require.Contains(t, output, "nothing would change\n")
	require.Contains(t, output, ", and matches what runs\n")
	require.Equal(t, had, r.urns())
	require.Empty(t, writes(r.calls()[seen:]), "the host was only read")
	require.Empty(t, labstack.Outages(r.talosLog(began)))
	require.Equal(t, boots, r.boots())
	kept()
	r.mustRun(0, "preview", "--lab")
	require.NoDirExists(t, filepath.Join(r.dir(), "pulumi-home", "adoption"))
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(t, boots, r.boots())

	r.losesItsState()
	r.deleteOnHost(102)
	output = r.adoptEndsAfterItsImport()
	require.Contains(t, output, "k3s-dev-worker-1: VM 102 is not there, so it is not adopted")
	require.Contains(t, output, "does not exist, so up creates it: k3s-dev-worker-1-vm\n")
	require.Regexp(t, "CREATE +k3s-dev-worker-1 ", output)
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(t, boots["k3s-dev-control-1"], r.boots()["k3s-dev-control-1"])
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	kept()
	r.mustRun(0, "preview", "--lab")
}

// adoptIsKilledBeforeItsImport kills an adoption when the stack has its new state, which is empty still. Nothing takes that for the state
// of the cluster: a preview would create everything, an up refuses to touch machines of another cluster, and the next adopt goes on.
func (r *rehearsal) adoptIsKilledBeforeItsImport(bundle string) {
	r.t.Helper()
	kill := r.startToKill("adopt", "--lab", "--secrets", bundle)
	r.eventually("the stack has an empty state", func() bool {
		_, err := os.Stat(r.stateFile())
		return err == nil
	})
	kill()
	require.Empty(r.t, r.urns())
	require.Contains(r.t, r.mustRun(3, "up", "--lab", "--yes"), "or, without a backup, write it with `em-infra adopt --stack "+r.stack)
}

// adoptEndsAfterItsImport makes an adoption fail after it has written its state and before it writes its credentials: a kill at that point leaves the
// same. A second adoption is refused. It returns the output of the first.
func (r *rehearsal) adoptEndsAfterItsImport() string {
	r.t.Helper()
	kubeconfig := filepath.Join(r.dir(), "kubeconfig")
	require.NoError(r.t, os.Remove(kubeconfig))
	require.NoError(r.t, os.MkdirAll(filepath.Join(kubeconfig, "in-the-way"), 0o700))
	output := r.mustRun(1, "adopt", "--lab")
	require.Contains(r.t, output, "the state is written and whole, but what belongs to it is not (write credentials: rename ")
	require.NoError(r.t, os.RemoveAll(kubeconfig))
	require.Contains(r.t, r.mustRun(3, "adopt", "--lab"), "the state of stack "+r.stack+" has 2 machines: look at `")
	require.NoDirExists(r.t, filepath.Join(r.dir(), "pulumi-home", "adoption"))
	return output
}

// losesItsState removes the state and all backups of it.
func (r *rehearsal) losesItsState() {
	r.t.Helper()
	for _, folder := range []string{filepath.Join("state", ".pulumi"), "backups"} {
		require.NoError(r.t, os.RemoveAll(filepath.Join(r.dir(), folder)))
	}
}

// refusesToAdopt checks that a cluster is not adopted with other secrets, without any, or with an inventory by which an up would
// destroy something.
func (r *rehearsal) refusesToAdopt(bundle string) {
	r.t.Helper()
	talosconfig := filepath.Join(r.dir(), "talosconfig")
	require.NoError(r.t, os.Remove(talosconfig))
	require.Contains(r.t, r.mustRun(3, "adopt", "--lab"), "no talosconfig opens a control plane (open ")

	others, err := secrets.NewBundle(secrets.NewClock(), nil)
	require.NoError(r.t, err)
	require.Contains(r.t, r.mustRun(3, "adopt", "--lab", "--secrets", r.writeYAML(others)), ", and the machine secrets are those of stack "+r.stack+", cluster ")

	nodes := r.inventoryText("nodes.yaml")
	r.writeInventory("nodes.yaml", strings.NewReplacer("address: 192.168.20.21", "address: 192.168.20.11", "address: 192.168.20.11", "address: 192.168.20.21").Replace(nodes))
	refusal := r.mustRun(3, "adopt", "--lab", "--secrets", bundle)
	require.Contains(r.t, refusal, "VM 101 (k3s-dev-control-1) on vmhost runs as another role than control-plane in nodes.yaml: ")
	require.Contains(r.t, refusal, "VM 102 (k3s-dev-worker-1) on vmhost runs as another role than worker in nodes.yaml: ")
	r.writeInventory("nodes.yaml", strings.Replace(nodes, "vmid: 101", "vmid: 151", 1))
	require.Contains(r.t, r.mustRun(3, "adopt", "--lab", "--secrets", bundle), "belongs to this cluster and is missing in nodes.yaml: set the vmid of k3s-dev-control-1 from 151 to 101")
	r.writeInventory("nodes.yaml", nodes)
	require.NoFileExists(r.t, r.stateFile())
}

// urns returns the resources in the state, sorted.
func (r *rehearsal) urns() []resource.URN {
	r.t.Helper()
	var urns []resource.URN
	for _, one := range r.state().Resources {
		urns = append(urns, one.URN)
	}
	slices.Sort(urns)
	return urns
}

// boots returns the boot IDs of the nodes by their names.
func (r *rehearsal) boots() map[string]string {
	r.t.Helper()
	boots := map[string]string{}
	for _, name := range r.nodeNames() {
		require.NoError(r.t, nodeops.Ask(r.t.Context(), r.talosconfig(), r.addressOf(name), func(ctx context.Context, api *client.Client) (err error) {
			boots[name], err = nodeops.BootID(ctx, api)
			return err
		}))
	}
	return boots
}

func (r *rehearsal) talosconfig() []byte {
	return []byte(r.read(filepath.Join(r.dir(), "talosconfig")))
}

// writeBundle writes the machine secrets of the cluster, which it reads from a control plane, into a file.
func (r *rehearsal) writeBundle() string {
	r.t.Helper()
	seen, err := nodeops.Health{Talosconfig: r.talosconfig()}.Observe(r.t.Context(), r.addressOf("k3s-dev-control-1"))
	require.NoError(r.t, err)
	parsed, err := configloader.NewFromBytes(seen.Configuration)
	require.NoError(r.t, err)
	return r.writeYAML(secrets.NewBundleFromConfig(secrets.NewClock(), parsed))
}

func (r *rehearsal) writeYAML(value any) string {
	r.t.Helper()
	text, err := yaml.Marshal(value)
	require.NoError(r.t, err)
	file := filepath.Join(r.t.TempDir(), "secrets.yaml")
	require.NoError(r.t, os.WriteFile(file, text, 0o600))
	return file
}
