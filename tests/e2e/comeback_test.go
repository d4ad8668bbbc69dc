package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/stacks"
)

// threeAndWorkers is nodes.yaml with three control planes, VM 101 to 103, a worker, VM 111, and one with a GPU, VM 114.
const threeAndWorkers = `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: k3s-dev-control-1, role: control-plane, vmid: 101, address: 192.168.20.11}
  - {name: k3s-dev-control-2, role: control-plane, vmid: 102, address: 192.168.20.12}
  - {name: k3s-dev-control-3, role: control-plane, vmid: 103, address: 192.168.20.13}
  - {name: k3s-dev-worker-1, role: worker, vmid: 111, address: 192.168.20.21}
  - {name: k3s-dev-gpu-1, vmid: 114, address: 192.168.20.24, role: gpu-worker, gpus: [{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}]}
`

// TestE2EMachinesComeBack deletes machines on the host and resets one: each joins its cluster again, with em-infra and with a
// plain engine, and the cluster's data is still there.
func TestE2EMachinesComeBack(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-comeback")
	all := []string{"k3s-dev-control-1", "k3s-dev-control-2", "k3s-dev-control-3", "k3s-dev-gpu-1", "k3s-dev-worker-1"}
	r.writeInventory("nodes.yaml", threeAndWorkers)
	r.bornWithoutMarks()
	r.remember()

	r.deleteOnHost(111, 114)
	require.Regexp(t, `CREATE +k3s-dev-worker-1 +VM 111 on vmhost, .*; it was deleted on the host: it is created again and joins again\n`, r.mustRun(2, "preview", "--lab"))
	r.mustRun(0, "up", "--lab", "--yes")
	r.cameBack(all)

	r.reset("k3s-dev-worker-1") // which has a mark by now
	r.reset("k3s-dev-control-2")
	output := r.mustRun(2, "preview", "--lab")
	require.Regexp(t, `CHANGE +k3s-dev-worker-1 +it is in maintenance mode, .*: it is configured and joins again\n`, output)
	require.Regexp(t, `CHANGE +k3s-dev-control-2 +it is in maintenance mode, .*\n +its dead member of etcd is removed, and it joins as a new one; the other 2 have all data\n`, output)
	r.mustRun(0, "up", "--lab", "--yes")
	r.cameBack(all)

	r.deleteOnHost(101) // where etcd was bootstrapped
	stack := r.plainEngine()
	r.runs(&stack)
	r.cameBack(all)

	r.deleteOnHost(102, 103)
	refusal := r.mustRun(3, "up", "--lab", "--yes")
	require.Contains(t, refusal, "2 of 3 control planes are gone: etcd has no quorum")
	require.Contains(t, refusal, "refused: bring etcd back from a snapshot with `")
	require.Regexp(t, "etcd restore --stack .* --lab`, or restore the VM of k3s-dev-control-2 from a backup, or restore the VM of k3s-dev-control-3 from a backup", refusal)
}

// bornWithoutMarks creates the cluster with a program that gave machines no birth identifiers: the current one changes nothing.
func (r *rehearsal) bornWithoutMarks() {
	r.t.Helper()
	r.mustRun(0, "up", "--lab", "--yes", "--until", "generate")
	stack := r.plainEngineWith(stacks.Options{NewBirth: func() string { return "" }})
	r.runs(&stack)
	r.mustRun(0, "preview", "--lab")
	r.mustRun(0, "up", "--lab", "--yes")
}

// runs is an up of a plain engine.
func (r *rehearsal) runs(stack *auto.Stack) {
	r.t.Helper()
	var output bytes.Buffer
	_, err := stack.Up(r.t.Context(), optup.Refresh(), optup.ProgressStreams(&output), optup.ErrorProgressStreams(io.Discard))
	require.NoError(r.t, err, output.String())
}

// deleteOnHost deletes machines as in the web interface.
func (r *rehearsal) deleteOnHost(vmids ...int) {
	r.t.Helper()
	r.power(false, vmids...)
	for _, vmid := range vmids {
		machine, err := r.host().VirtualMachine(r.t.Context(), vmid)
		require.NoError(r.t, err)
		task, err := machine.Delete(r.t.Context())
		require.NoError(r.t, err)
		require.NoError(r.t, task.Wait(r.t.Context(), 100*time.Millisecond, time.Minute))
	}
}

// reset wipes a node as `talosctl reset --graceful=false --reboot` does, and returns when it is in maintenance mode.
func (r *rehearsal) reset(name string) {
	r.t.Helper()
	address := r.addressOf(name)
	api, err := client.New(r.t.Context(), client.WithConfigFromFile(filepath.Join(r.dir(), "talosconfig")), client.WithEndpoints(address))
	require.NoError(r.t, err)
	defer api.Close()
	require.NoError(r.t, api.ResetGeneric(client.WithNode(r.t.Context(), address), &machineapi.ResetRequest{Reboot: true}))
	r.eventually(name+" is in maintenance mode", func() bool { return nodeops.InMaintenance(r.t.Context(), address) })
}

// addressOf returns a node's address in the lab.
func (r *rehearsal) addressOf(name string) string {
	r.t.Helper()
	for _, resource := range r.state().Resources {
		addresses, _ := resource.Outputs[stacks.OutputNodeAddresses].(map[string]any)
		if address, isNode := addresses[name].(string); isNode {
			return address
		}
	}
	r.t.Fatalf("there is no node %s", name)
	return ""
}

// keptObjects is the number of objects that are written before something is lost, and counted afterwards.
const keptObjects = 10

// remember creates an object that only the cluster's etcd contains.
func (r *rehearsal) remember() {
	r.t.Helper()
	for i := range keptObjects {
		_, err := r.kubernetes().CoreV1().ConfigMaps("default").Create(r.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("kept-%d", i), Labels: map[string]string{"e2e": "kept"},
		}}, metav1.CreateOptions{})
		require.NoError(r.t, err)
	}
}

// cameBack checks that the nodes are Ready, the etcd members are those of the inventory, nothing is lost, and a further run
// changes nothing.
func (r *rehearsal) cameBack(names []string) {
	r.t.Helper()
	r.nodesAreReady(names...)
	var members []string
	for _, member := range r.status(0).Members {
		require.Empty(r.t, member.Problem)
		members = append(members, member.Name)
	}
	isNoMember := func(name string) bool { return !strings.Contains(name, "control") }
	require.ElementsMatch(r.t, slices.DeleteFunc(slices.Clone(names), isNoMember), members)
	kept, err := r.kubernetes().CoreV1().ConfigMaps("default").List(r.t.Context(), metav1.ListOptions{LabelSelector: "e2e=kept"})
	require.NoError(r.t, err)
	require.Len(r.t, kept.Items, keptObjects)
	r.mustRun(0, "preview", "--lab")
}

// TestE2ETheOnlyControlPlaneIsLost deletes the only control plane on the host: a plain engine and em-infra refuse to create an
// empty cluster in its place, unless the control plane is named. Then the workers and the addons are in the new cluster.
func TestE2ETheOnlyControlPlaneIsLost(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-lost")
	require.NoError(t, os.CopyFS(filepath.Join(r.inventory, "flux2"), os.DirFS(filepath.Join(r.root, "tests", "charts", "flux-like"))))
	r.writeInventory("cluster.yaml", r.inventoryText("cluster.yaml")+"addons:\n  flux: {chart: {path: flux2}}\n")
	r.mustRun(0, "up", "--lab", "--yes")
	r.remember()
	kubeconfig := r.read(filepath.Join(r.dir(), "kubeconfig"))

	r.deleteOnHost(101)
	seen := len(r.calls())
	output := r.mustRun(3, "up", "--lab", "--yes")
	require.Regexp(t, `CREATE +k3s-dev-control-1 +VM 101 on vmhost, .*; it was deleted on the host: it is created again and joins again\n`, output)
	require.Contains(t, output, "this is the only control plane: the cluster is lost; an empty one is created with the same keys, and the addons are installed again\n")
	require.Contains(t, output, "refused: say --allow-replace k3s-dev-control-1 to go on, or bring etcd back from a snapshot with `")
	stack, refusal := r.plainEngine(), "no other control plane has the data of etcd: the cluster is lost with it; bring etcd back from a snapshot with `em-infra etcd restore`, restore its VM from a backup, or make the cluster anew with `em-infra up --allow-replace k3s-dev-control-1`"
	var printed bytes.Buffer
	_, err := stack.Preview(t.Context(), optpreview.Refresh(), optpreview.ProgressStreams(&printed), optpreview.ErrorProgressStreams(&printed))
	require.Error(t, err)
	require.Contains(t, printed.String(), refusal, "so `pulumi up` ends with its preview")
	require.Empty(t, writes(r.calls()[seen:]), "nothing was touched")

	printed.Reset()
	_, err = stack.Up(t.Context(), optup.Refresh(), optup.ProgressStreams(&printed), optup.ErrorProgressStreams(&printed)) // without a preview
	require.Error(t, err)
	require.Contains(t, printed.String(), refusal)
	require.Contains(t, r.mustRun(3, "up", "--lab", "--yes"), "it is in maintenance mode, because it was reset or created again by hand: it is configured and joins again\n")

	r.mustRun(0, "up", "--lab", "--yes", "--allow-replace", "k3s-dev-control-1")
	require.Equal(t, kubeconfig, r.read(filepath.Join(r.dir(), "kubeconfig")), "it opens the new cluster, too")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	_, err = r.kubernetes().CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = r.kubernetes().CoreV1().Namespaces().Get(t.Context(), "flux-system", metav1.GetOptions{})
	require.NoError(t, err)
	r.mustRun(0, "preview", "--lab")
}
