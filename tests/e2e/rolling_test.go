package e2e_test

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/stacks"
	"github.com/em-infra/em-infra/tests/labstack"
)

// highlyAvailable is nodes.yaml with three control planes, VM 101 to 103, with further keys, and two workers.
func highlyAvailable(keys string) string {
	text := "apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n"
	for i := range 3 {
		text += fmt.Sprintf("  - {name: k3s-dev-control-%d, role: control-plane, vmid: %d, address: 192.168.20.%d%s}\n", i+1, 101+i, 11+i, keys)
	}
	for i := range 2 {
		text += fmt.Sprintf("  - {name: k3s-dev-worker-%d, role: worker, vmid: %d, address: 192.168.20.%d}\n", i+1, 111+i, 21+i)
	}
	return text
}

// rebootingPatch changes a rule of udev, for which Talos reboots, and a sysctl, for which it does not.
const rebootingPatch = `, patches: [{machine: {udev: {rules: ['SUBSYSTEM=="drm", MODE="0660"']}, sysctls: {vm.max_map_count: "262144"}}}]`

// TestE2EF4F5ControlPlanesAreChangedOneAtATime changes one worker of two and all three control planes, and then lets one
// control plane fail to boot.
func TestE2EF4F5ControlPlanesAreChangedOneAtATime(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, five)

	r.nodesAreReady(fiveNodes...)
	r.mustRun(0, "preview", "--lab")

	r.stopsAtABadArgument()
	r.takesBackACordon()
	changed := r.leavesANodeWhosePodsStay()

	r.writeInventory("nodes.yaml", strings.Replace(highlyAvailable(", memoryMiB: 6144"+rebootingPatch), changed, changed+", memoryMiB: 6144", 1))
	began := time.Now()
	r.mustRun(0, "up", "--lab", "--yes")
	r.oneAfterTheOther(r.talosLog(began))
	r.etcdWasSnapshotted(began, "v1.35.4", 5)
	r.nodesAreReady(fiveNodes...)
	r.mustRun(0, "preview", "--lab")

	r.stopsWhereANodeIsLost()
	r.nodesAreReady(fiveNodes...)
	r.mustRun(0, "preview", "--lab")
	r.isClosedWhereNobodyAnswers()
	r.mustRun(0, "destroy", "--lab", "--yes")
}

// badArgument is one that kube-apiserver does not know. Talos applies it without a reboot.
const badArgument = `, patches: [{cluster: {apiServer: {extraArgs: {no-such-argument: "true"}}}}]`

// stopsAtABadArgument gives all control planes an argument with which their API servers do not start: one of them gets it, and
// the other two stay unchanged and serve. The inventory without it repairs the first.
func (r *rehearsal) stopsAtABadArgument() {
	r.t.Helper()
	r.writeInventory("nodes.yaml", highlyAvailable(badArgument))
	stack := r.plainEngineWith(stacks.Options{RecoveryTimeout: 45 * time.Second})
	_, err := stack.Up(r.t.Context(), optup.ProgressStreams(io.Discard))
	require.ErrorContains(r.t, err, " does not work 45s after its change (its Kubernetes API: it does not answer)")

	got := r.withBadArgument()
	require.Len(r.t, got, 1, "one control plane has the argument")
	for i := range 3 {
		node := fmt.Sprintf("k3s-dev-control-%d", i+1)
		if node == got[0] {
			require.ErrorContains(r.t, err, node+" does not work 45s after its change")
		} else {
			require.ErrorContains(r.t, err, node+" is untouched, because ")
		}
	}
	r.eventually("the API goes on with the others, and says that the first one's server does not", func() bool {
		pod, err := r.kubernetes().CoreV1().Pods("kube-system").Get(r.t.Context(), "kube-apiserver-"+got[0], metav1.GetOptions{})
		return err == nil && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].State.Waiting != nil &&
			pod.Status.ContainerStatuses[0].State.Waiting.Reason == "CrashLoopBackOff"
	})

	_, err = r.interruptedUp(30 * time.Second)
	require.ErrorContains(r.t, err, " is untouched: the run was interrupted")
	require.Equal(r.t, got, r.withBadArgument(), "who runs up again does not give it to the next one")

	r.writeInventory("nodes.yaml", highlyAvailable(""))
	r.mustRun(0, "up", "--lab", "--yes")
}

// interruptedUp returns an up that is interrupted, as by Ctrl-C.
func (r *rehearsal) interruptedUp(after time.Duration) (auto.UpResult, error) {
	r.t.Helper()
	interrupted := make(chan struct{})
	timer := time.AfterFunc(after, func() { close(interrupted) })
	defer timer.Stop()
	stack := r.plainEngineWith(stacks.Options{Interrupted: interrupted})
	return stack.Up(r.t.Context(), optup.ProgressStreams(io.Discard))
}

// takesBackACordon removes the cordon of a killed run, and keeps one that the user has set.
func (r *rehearsal) takesBackACordon() {
	r.t.Helper()
	r.leftCordoned("k3s-dev-worker-1")
	r.patchNode("k3s-dev-worker-2", `{"spec":{"unschedulable":true}}`)
	require.Contains(r.t, r.mustRun(0, "up", "--lab", "--yes"), "k3s-dev-worker-1 takes pods again: a run that was interrupted had cordoned it")
	require.False(r.t, r.isCordoned("k3s-dev-worker-1"))
	require.True(r.t, r.isCordoned("k3s-dev-worker-2"))
	r.patchNode("k3s-dev-worker-2", `{"spec":{"unschedulable":null}}`)
}

// leftCordoned cordons nodes as a run that was killed after their drain has left them.
func (r *rehearsal) leftCordoned(nodes ...string) {
	r.t.Helper()
	for _, node := range nodes {
		r.patchNode(node, `{"metadata":{"annotations":{"`+nodeops.CordonAnnotation+`":"true"}},"spec":{"unschedulable":true}}`)
	}
}

func (r *rehearsal) patchNode(node, text string) {
	r.t.Helper()
	_, err := r.kubernetes().CoreV1().Nodes().Patch(r.t.Context(), node, types.MergePatchType, []byte(text), metav1.PatchOptions{})
	require.NoError(r.t, err)
}

// withBadArgument returns the control planes that have it in their machine configuration.
func (r *rehearsal) withBadArgument() []string {
	r.t.Helper()
	health := nodeops.Health{Talosconfig: []byte(r.read(filepath.Join(r.dir(), "talosconfig")))}
	var names []string
	for i, address := range r.nodes()[:3] {
		seen, err := health.Observe(r.t.Context(), address)
		require.NoError(r.t, err)
		if strings.Contains(string(seen.Configuration), "no-such-argument") {
			names = append(names, fmt.Sprintf("k3s-dev-control-%d", i+1))
		}
	}
	return names
}

// leavesANodeWhosePodsStay changes the memory of a worker with a pod that a PodDisruptionBudget holds back: the worker stays
// unchanged and schedulable until the budget is gone. Then it is drained, reboots, and is schedulable again. It returns the
// worker's place in the inventory.
func (r *rehearsal) leavesANodeWhosePodsStay() (vmid string) {
	r.t.Helper()
	api := r.kubernetes()
	budgets := api.PolicyV1().PodDisruptionBudgets("default")
	r.guardedPods(1)
	budget, err := budgets.Get(r.t.Context(), "guarded", metav1.GetOptions{})
	require.NoError(r.t, err)
	none := intstr.FromInt32(0)
	budget.Spec.MaxUnavailable = &none
	_, err = budgets.Update(r.t.Context(), budget, metav1.UpdateOptions{})
	require.NoError(r.t, err)
	name, node := r.guardedPod()
	number, err := strconv.Atoi(strings.TrimPrefix(node, "k3s-dev-worker-"))
	require.NoError(r.t, err)
	vmid = fmt.Sprintf("vmid: %d", 110+number)

	r.edit("nodes.yaml", vmid, vmid+", memoryMiB: 6144")
	seen := len(r.calls())
	stack := r.plainEngineWith(stacks.Options{DrainTimeout: 5 * time.Second})
	_, err = stack.Up(r.t.Context(), optup.ProgressStreams(io.Discard))
	require.ErrorContains(r.t, err, node+" is untouched: "+node+" is not drained after 5s, because PodDisruptionBudgets hold pods back (default/"+name+"): let them move, e.g. with one replica more")
	require.Empty(r.t, writes(r.calls()[seen:]), "the machine is as it was")
	require.False(r.t, r.isCordoned(node))
	same, _ := r.guardedPod()
	require.Equal(r.t, name, same)

	require.NoError(r.t, budgets.Delete(r.t.Context(), "guarded", metav1.DeleteOptions{}))
	began := time.Now()
	require.Contains(r.t, r.mustRun(0, "up", "--lab", "--yes"), "drained, reboots, about 1 min")
	require.Equal(r.t, []int{110 + number}, vmids(labstack.Outages(r.talosLog(began))), "only the worker that changed")
	_, moved := r.guardedPod()
	require.NotEqual(r.t, node, moved, "its pod moved before")
	require.False(r.t, r.isCordoned(node))
	require.NoError(r.t, api.AppsV1().Deployments("default").Delete(r.t.Context(), "guarded", metav1.DeleteOptions{}))
	return vmid
}

// guardedPod returns the pod that a budget guards, and its node.
func (r *rehearsal) guardedPod() (name, node string) {
	r.t.Helper()
	r.eventually("the guarded pod has a node", func() bool {
		pods, err := r.kubernetes().CoreV1().Pods("default").List(r.t.Context(), metav1.ListOptions{LabelSelector: "app=guarded"})
		if err != nil || len(pods.Items) != 1 {
			return false
		}
		name, node = pods.Items[0].Name, pods.Items[0].Spec.NodeName
		return node != ""
	})
	return name, node
}

func (r *rehearsal) isCordoned(node string) bool {
	r.t.Helper()
	object, err := r.kubernetes().CoreV1().Nodes().Get(r.t.Context(), node, metav1.GetOptions{})
	require.NoError(r.t, err)
	return object.Spec.Unschedulable || object.Annotations[nodeops.CordonAnnotation] != ""
}

// isClosedWhereNobodyAnswers changes the memory of all control planes while none of them answers, although their machines run,
// as for a computer without a route to them: none is changed.
func (r *rehearsal) isClosedWhereNobodyAnswers() {
	r.t.Helper()
	r.mustRun(0, "lab", "fault", "set", "node-does-not-boot")
	r.power(false, 101, 102, 103)
	r.power(true, 101, 102, 103)
	r.writeInventory("nodes.yaml", strings.ReplaceAll(r.inventoryText("nodes.yaml"), "memoryMiB: 4096, patches", "memoryMiB: 6144, patches"))
	seen := len(r.calls())
	_, err := r.interruptedUp(45 * time.Second)
	require.ErrorContains(r.t, err, " is untouched: the run was interrupted")
	require.Empty(r.t, writes(r.calls()[seen:]), "no machine was changed")
	r.mustRun(0, "lab", "fault", "clear")
}

// oneAfterTheOther: each control plane was down once, for its memory and its configuration, no two at the same time, and each
// returned its etcd status before the next one went down, so that the quorum was never lost.
func (r *rehearsal) oneAfterTheOther(lines []labstack.NodeLine) {
	r.t.Helper()
	found := labstack.Outages(lines)
	require.Len(r.t, found, 3, "a machine and its configuration take one reboot")
	require.Equal(r.t, []int{101, 102, 103}, vmids(found))
	for i, o := range found[:len(found)-1] {
		next := found[i+1]
		require.False(r.t, o.To.IsZero(), "VM %d came back", o.VMID)
		require.True(r.t, o.To.Before(next.From), "VM %d went down before VM %d was back", next.VMID, o.VMID)
	}
	r.votedInBetween(lines, found)
}

// votedInBetween requires that each control plane returned its etcd status after its outage and before that of the next one.
func (r *rehearsal) votedInBetween(lines []labstack.NodeLine, outages []labstack.Outage) {
	r.t.Helper()
	for i, o := range outages[:len(outages)-1] {
		next := outages[i+1]
		require.True(r.t, slices.ContainsFunc(lines, func(l labstack.NodeLine) bool {
			return l.VMID == o.VMID && l.Method == "/machine.MachineService/EtcdStatus" && l.Code == "OK" && l.Time.After(o.To) && l.Time.Before(next.From)
		}), "VM %d voted before VM %d went down", o.VMID, next.VMID)
	}
}

// stopsWhereANodeIsLost gives all control planes other memory, and one of them does not boot: the later ones stay unchanged,
// until it is switched on again and the next run finishes the work.
func (r *rehearsal) stopsWhereANodeIsLost() {
	r.t.Helper()
	const lost = 102
	r.writeInventory("nodes.yaml", strings.ReplaceAll(r.inventoryText("nodes.yaml"), "memoryMiB: 6144, patches", "memoryMiB: 4096, patches"))
	r.mustRun(0, "lab", "fault", "set", "node-does-not-boot", "--vm", fmt.Sprint(lost))
	began, seen := time.Now(), len(r.calls())
	stack := r.plainEngineWith(stacks.Options{RecoveryTimeout: 2 * time.Minute})
	_, err := stack.Up(r.t.Context(), optup.ProgressStreams(io.Discard))
	require.ErrorContains(r.t, err, "k3s-dev-control-2 does not work 2m0s after its change")

	down := labstack.Outages(r.talosLog(began))
	require.Equal(r.t, lost, down[len(down)-1].VMID, "nobody went down after it")
	for _, vmid := range []int{101, 103} {
		wasDown := slices.Contains(vmids(down), vmid)
		require.Equal(r.t, wasDown, r.changed(vmid, seen), "VM %d was changed only if its turn was before", vmid)
		if !wasDown {
			require.ErrorContains(r.t, err, fmt.Sprintf("k3s-dev-control-%d is untouched, because k3s-dev-control-2 did not come back from its change: mend that node, then run up again", vmid-100))
		}
	}

	r.mustRun(0, "lab", "fault", "clear")
	r.power(true, lost)
	r.mustRun(0, "up", "--lab", "--yes")
}

// changed reports whether a machine's configuration was written since.
func (r *rehearsal) changed(vmid, seen int) bool {
	r.t.Helper()
	return slices.ContainsFunc(writes(r.calls()[seen:]), func(write string) bool {
		return strings.HasSuffix(write, fmt.Sprintf("/qemu/%d/config", vmid))
	})
}
