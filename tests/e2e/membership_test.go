package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/em-infra/em-infra/stacks"
)

// gpuWorker is the number of the worker that has a GPU.
const gpuWorker = 4

// workers is nodes.yaml with one control plane, VM 101, and workers by their numbers, VM 111 and so on.
func workers(numbers ...int) string {
	text := "apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n  - {name: k3s-dev-control-1, role: control-plane, vmid: 101, address: 192.168.20.11}\n"
	for _, n := range numbers {
		role := "worker"
		if n == gpuWorker {
			role = `gpu-worker, gpus: [{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}]`
		}
		text += fmt.Sprintf("  - {name: k3s-dev-worker-%d, vmid: %d, address: 192.168.20.%d, role: %s}\n", n, 110+n, 20+n, role)
	}
	return text
}

// TestE2EF24F25F26WorkersComeAndGo scales workers from 2 to 4, one of them with a GPU, and to 1, replaces one on purpose,
// removes a dead one, is refused the removal of a control plane, and destroys the cluster when all of it is off.
func TestE2EF24F25F26WorkersComeAndGo(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, "e2e-membership")
	up := func(text string) string {
		t.Helper()
		r.writeInventory("nodes.yaml", text)
		return r.mustRun(0, "up", "--lab", "--yes")
	}
	up(workers(1, 2))
	up(workers(1, 2, 3, 4))
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1", "k3s-dev-worker-2", "k3s-dev-worker-3", "k3s-dev-worker-4")

	r.guardedPods(4)
	r.leftCordoned("k3s-dev-worker-1", "k3s-dev-worker-2", "k3s-dev-worker-3") // the pods of the one that leaves find no room
	output := up(workers(1, 2, 3))
	require.Contains(t, output, "k3s-dev-worker-1 takes pods again: a run that was interrupted had cordoned it")
	require.Contains(t, output, "k3s-dev-worker-4 is drained")
	require.Contains(t, output, "k3s-dev-worker-4 is reset")
	require.Contains(t, output, "k3s-dev-worker-4 is no longer a Node of the cluster")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1", "k3s-dev-worker-2", "k3s-dev-worker-3")

	r.power(false, 113)
	require.Contains(t, up(workers(1, 2)), "warning: k3s-dev-worker-3 is dead: it is removed without being drained or reset")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1", "k3s-dev-worker-2")

	r.replaced("k3s-dev-worker-1")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1", "k3s-dev-worker-2")
	up(workers(1))
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")

	r.power(false, 101, 111)
	began := time.Now()
	r.mustRun(0, "destroy", "--lab", "--yes")
	require.Empty(t, r.hostFiles().VMs)
	require.Empty(t, r.talosLog(began), "no node is asked for anything, dead or alive")
}

// guardedPods runs that many pods, of which a PodDisruptionBudget lets one be evicted at a time.
func (r *rehearsal) guardedPods(replicas int32) {
	r.t.Helper()
	api := r.kubernetes()
	labels := map[string]string{"app": "guarded"}
	selector, one := &metav1.LabelSelector{MatchLabels: labels}, intstr.FromInt32(1)
	_, err := api.PolicyV1().PodDisruptionBudgets("default").Create(r.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guarded"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector, MaxUnavailable: &one},
	}, metav1.CreateOptions{})
	require.NoError(r.t, err)
	_, err = api.AppsV1().Deployments("default").Create(r.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "guarded"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause:3.10"}}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(r.t, err)
	r.eventually("the guarded pods run", func() bool {
		deployment, err := api.AppsV1().Deployments("default").Get(r.t.Context(), "guarded", metav1.GetOptions{})
		return err == nil && deployment.Status.ReadyReplicas == replicas
	})
}

// replaced replaces a node's machine on purpose, as `pulumi up --replace` does.
func (r *rehearsal) replaced(node string) {
	r.t.Helper()
	identity := func() string {
		r.t.Helper()
		object, err := r.kubernetes().CoreV1().Nodes().Get(r.t.Context(), node, metav1.GetOptions{})
		require.NoError(r.t, err)
		return string(object.UID)
	}
	before := identity()
	var output bytes.Buffer
	stack := r.plainEngineWith(stacks.Options{})
	_, err := stack.Up(r.t.Context(), optup.Replace([]string{r.urn(node + "-vm")}), optup.ProgressStreams(&output), optup.ErrorProgressStreams(io.Discard))
	require.NoError(r.t, err, output.String())
	require.Contains(r.t, output.String(), node+" is no longer a Node of the cluster")
	r.eventually(node+" is a Node again", func() bool {
		object, err := r.kubernetes().CoreV1().Nodes().Get(r.t.Context(), node, metav1.GetOptions{})
		return err == nil && string(object.UID) != before
	})
}

// urn of a resource in the state.
func (r *rehearsal) urn(name string) string {
	r.t.Helper()
	for _, resource := range r.state().Resources {
		if resource.URN.Name() == name {
			return string(resource.URN)
		}
	}
	r.t.Fatalf("%s is not in the state", name)
	return ""
}
