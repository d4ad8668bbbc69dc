package removal_test

import (
	"fmt"
	"testing"
	"time"

	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// aControlPlaneThatIsLeftUntouched covers a control plane behind a firewall whose kubelet reports: its member stays. It also checks that an alarm
// of etcd is reported at once, instead of after a wait of 20 minutes for working members.
func aControlPlaneThatIsLeftUntouched(t *testing.T, c *cluster) {
	goes := c.remove(first + 2)
	goes.Node = removal.Impatient(goes.Node, time.Second)
	c.hangs.method.Store("Version")
	require.EqualError(t, goes.Remove(t.Context()), fmt.Sprintf("control-3 is untouched, because its Talos API at %s:50000 cannot be reached from here although its kubelet reports: "+
		"run where port 50000 can be reached, or stop its machine, then run `em-infra up` again", goes.Address))
	c.hangs.method.Store("")
	c.awaitMembers(size)

	require.NoError(t, c.faults.Set(fault.Fault{Name: talos.FaultEtcdFull, VMID: first, Times: 1}))
	require.EqualError(t, goes.Remove(t.Context()), "control-3 is untouched, because "+full+"; then run `em-infra up` again")
	require.Empty(t, c.printed.String())
	node, err := c.kubernetes(0).CoreV1().Nodes().Get(t.Context(), goes.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.False(t, node.Spec.Unschedulable)
}

// TestBadDaysOfAWorkersRemoval has one cluster of a control plane for both cases.
func TestBadDaysOfAWorkersRemoval(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	shared := newCluster(t, 1)
	require.True(t, t.Run("it cannot be reached", func(t *testing.T) { aWorkerThatCannotBeReached(t, shared.lend(t)) }))
	t.Run("no control plane answers", func(t *testing.T) { aWorkerWaitsForAControlPlane(t, shared.lend(t)) })
}

// aWorkerThatCannotBeReached: a worker whose kubelet reports is drained, although its Talos API is silent: its pods would end with its machine. While
// they are held back nothing is lost, and a run that keeps the worker takes the cordon back.
func aWorkerThatCannotBeReached(t *testing.T, c *cluster) {
	worker := c.joinAWorker()
	name := worker.Name
	c.holdsBackAPodOn(name)
	worker.Progress = c.printed
	worker = removal.Impatient(worker, time.Second)
	c.hangs.method.Store("Version")
	require.EqualError(t, worker.RemoveWorker(t.Context()), "worker-1 is not drained after 0s, because PodDisruptionBudgets hold pods back (default/web): "+
		"let them move, e.g. with one replica more, then run up again; or set EM_INFRA_DELETE_HELD_BACK_PODS=yes for that run, and they are deleted")
	c.takesBack(name)

	api := c.kubernetes(0)
	require.NoError(t, api.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Delete(t.Context(), "web", metav1.DeleteOptions{}))
	worker.DrainTimeout = 5 * time.Minute
	require.NoError(t, worker.RemoveWorker(t.Context()))
	require.Equal(t, "worker-1 is drained\n"+
		"warning: worker-1 is not reset, because its Talos API at "+worker.Address+":50000 cannot be reached from here although its kubelet reports; its disks go with its machine\n"+
		"worker-1 is no longer a Node of the cluster\n", c.printed.String())
	nodes, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, nodes.Items, 1)
	c.hangs.method.Store("")
}

// aWorkerWaitsForAControlPlane: the only control plane is off while a worker is removed, and the same run switches it on.
func aWorkerWaitsForAControlPlane(t *testing.T, c *cluster) {
	worker := c.joinAWorker()
	require.NoError(t, c.Fleet.PowerOff(first))
	waiting := &noted{text: "worker-1 waits until a control plane answers, 3 min at most", printed: make(chan struct{})}
	worker.Progress = waiting
	removed := make(chan error, 1)
	go func() { removed <- worker.RemoveWorker(t.Context()) }()
	<-waiting.printed
	c.PowerOn(first, nameOf(first))
	require.NoError(t, <-removed)

	require.NoError(t, c.Fleet.PowerOff(first))
	worker = removal.Impatient(worker, time.Second)
	require.ErrorContains(t, worker.RemoveWorker(t.Context()), "worker-1 is not removed, because no control plane answers (")
}

// joinAWorker has a new machine join as a worker, and returns the removal of that worker.
func (c *cluster) joinAWorker() removal.Node {
	c.t.Helper()
	const vmid, name = first + 10, "worker-1"
	require.NoError(c.t, c.Fleet.Destroy(vmid))
	c.Join(vmid, name, machinetype.TypeWorker)
	polltest.Succeeds(c.t, func() error {
		return nodeops.WaitUntilReady(c.t.Context(), c.Talosconfig(), nodeops.Awaited{Nodes: []string{name}})
	})
	return removal.Node{Name: name, Address: c.Address(vmid).String(), Talosconfig: c.Talosconfig()}
}

// holdsBackAPodOn creates a pod on a node, and a PodDisruptionBudget that holds it back.
func (c *cluster) holdsBackAPodOn(node string) {
	c.t.Helper()
	api, labels := c.kubernetes(0), map[string]string{"app": "web"}
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	_, err := api.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Create(c.t.Context(), budget, metav1.CreateOptions{})
	require.NoError(c.t, err)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	polltest.Succeeds(c.t, func() error { // the service account of a namespace comes after it
		_, err := api.CoreV1().Pods(metav1.NamespaceDefault).Create(c.t.Context(), pod, metav1.CreateOptions{})
		return err
	})
	polltest.Until(c.t, func() bool { // one that does not run yet is not held back
		running, err := api.CoreV1().Pods(metav1.NamespaceDefault).Get(c.t.Context(), pod.Name, metav1.GetOptions{})
		return err == nil && running.Status.Phase == corev1.PodRunning
	}, "the pod runs")
}

// takesBack checks that a run which keeps a node takes back the cordon that a failed removal has left.
func (c *cluster) takesBack(name string) {
	c.t.Helper()
	node, err := c.kubernetes(0).CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
	require.NoError(c.t, err)
	require.True(c.t, node.Spec.Unschedulable)
	api, err := nodeops.ReachKubernetes(c.t.Context(), c.Talosconfig())
	require.NoError(c.t, err)
	defer api.Close()
	uncordoned, err := api.Uncordon(c.t.Context(), func() []string { return nil })
	require.NoError(c.t, err)
	require.Empty(c.t, uncordoned, "a lane leaves it cordoned, since its removal may go on")
	uncordoned, err = api.UncordonAll(c.t.Context())
	require.NoError(c.t, err)
	require.Equal(c.t, []string{name}, uncordoned)
}
