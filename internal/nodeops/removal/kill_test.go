package removal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/kubernetesclient"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

func TestMain(m *testing.M) { talostest.Main(m) }

const first = talostest.First

// cluster is a number of emulated control planes with real Kubernetes processes.
type cluster struct {
	*talostest.Cluster
	t      *testing.T
	nodes  []rolling.Node
	killer *talostest.Killer
	said   *strings.Builder
}

func newCluster(t *testing.T, size int) *cluster {
	t.Helper()
	faults := talos.NewFaultSet(fault.NewSet([32]byte{1}, talos.FaultKinds()), nil)
	c := &cluster{t: t, killer: talostest.NewKiller(faults), said: &strings.Builder{}}
	c.Cluster = talostest.NewCluster(t, "v1.12.4", constants.DefaultKubernetesVersion,
		talos.Config{Kubernetes: kubernetestest.NewClusters(t), Faults: c.killer})
	for vmid := first; vmid < first+size; vmid++ {
		c.nodes = append(c.nodes, rolling.Node{Name: nameOf(vmid), Address: c.Address(vmid), ControlPlane: true})
		c.Join(vmid, nameOf(vmid), machinetype.TypeControlPlane)
	}
	c.awaitMembers(size)
	return c
}

func nameOf(vmid int) string { return fmt.Sprintf("control-%d", vmid-first+1) }

// awaitMembers waits until all members work, and as many Nodes are Ready.
func (c *cluster) awaitMembers(size int) {
	c.t.Helper()
	var names []string
	for _, node := range c.nodes {
		names = append(names, node.Name)
	}
	health := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: c.nodes}
	polltest.Succeeds(c.t, func() error {
		members, err := health.Members(c.t.Context())
		working := 0
		for _, member := range members {
			if member.Name != "" && !member.Learner && member.Problem == "" {
				working++
			}
		}
		if err == nil && (len(members) != size || working != size) {
			err = fmt.Errorf("%d of %d members work", working, len(members))
		}
		return err
	})
	polltest.Succeeds(c.t, func() error {
		return nodeops.WaitUntilReady(c.t.Context(), c.Talosconfig(), nodeops.Awaited{Nodes: names})
	})
}

// comeBack waits until a machine whose node was reset is off, and has it join again.
func (c *cluster) comeBack(vmid int) {
	c.t.Helper()
	talostest.AwaitStage(c.t, c.Fleet, vmid, talos.StageOff)
	c.PowerOn(vmid, nameOf(vmid))
	talostest.AwaitStage(c.t, c.Fleet, vmid, talos.StageMaintenance)
	talostest.Apply(c.t, c.Address(vmid), c.Configuration(machinetype.TypeControlPlane))
	talostest.AwaitStage(c.t, c.Fleet, vmid, talos.StageRunning)
}

// remove returns the removal of a control plane that does not come back.
func (c *cluster) remove(vmid int) removal.ControlPlane {
	var stay []rolling.Node
	for _, node := range c.nodes {
		if node.Name != nameOf(vmid) {
			stay = append(stay, node)
		}
	}
	return removal.ControlPlane{
		Node: removal.Node{
			Name: nameOf(vmid), Address: c.Address(vmid).String(), Talosconfig: c.Talosconfig(), DrainTimeout: 5 * time.Minute, Progress: c.said,
		},
		Stay: stay,
	}
}

// leader returns the VMID of the leader of etcd.
func (c *cluster) leader() int {
	c.t.Helper()
	for vmid := first; vmid < first+len(c.nodes); vmid++ {
		answer, err := c.Admin(vmid).EtcdStatus(c.t.Context())
		require.NoError(c.t, err)
		if status := answer.GetMessages()[0].GetMemberStatus(); status.GetLeader() == status.GetMemberId() {
			return vmid
		}
	}
	c.t.Fatal("no leader")
	return 0
}

// kubernetes returns a client of the API server of another control plane.
func (c *cluster) kubernetes(besides int) *kubernetes.Clientset {
	c.t.Helper()
	at := first
	if besides == first {
		at++
	}
	config, err := kubernetesclient.Config(c.t.Context(), c.Talosconfig(), c.Address(at).String())
	require.NoError(c.t, err)
	api, err := kubernetes.NewForConfig(config)
	require.NoError(c.t, err)
	return api
}

// TestAKilledRemovalIsEndedByTheNext: the removal of the leader of three, ended at any of its calls that change something, before or
// after the effect of the call, is ended by the next one. An object in etcd survives.
func TestAKilledRemovalIsEndedByTheNext(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	const size = 3
	c := newCluster(t, size)
	canary := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "canary", Namespace: metav1.NamespaceDefault}}
	_, err := c.kubernetes(0).CoreV1().ConfigMaps(canary.Namespace).Create(t.Context(), canary, metav1.CreateOptions{})
	require.NoError(t, err)
	writes := []string{"EtcdForfeitLeadership", "EtcdLeaveCluster", "Reset"}

	for _, call := range append([]string{""}, writes...) {
		for _, done := range []bool{false, true} {
			if call == "" && done {
				continue // the run that is not killed
			}
			t.Run(fmt.Sprintf("%s, done %v", call, done), func(t *testing.T) {
				vmid := c.leader()
				errKilled := errors.New("the run was killed")
				ctx, kill := context.WithCancelCause(t.Context())
				c.killer.Begin(call, done, func() { kill(errKilled) })
				err := c.remove(vmid).Remove(ctx)
				if call == "" {
					require.NoError(t, err)
					require.Equal(t, writes, c.killer.Writes(), "a call that is new here needs its row in this test")
				} else {
					require.Error(t, err)
					require.ErrorIs(t, context.Cause(ctx), errKilled, "it has ended by itself: %v", err)
					c.killer.Begin("", false, nil)
					require.NoError(t, c.remove(vmid).Remove(t.Context()))
				}

				stays := c.remove(vmid).Stay
				members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: stays}.Members(t.Context())
				require.NoError(t, err)
				require.Len(t, members, size-1)
				api := c.kubernetes(vmid)
				nodes, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				require.Len(t, nodes.Items, size-1)
				_, err = api.CoreV1().ConfigMaps(canary.Namespace).Get(t.Context(), canary.Name, metav1.GetOptions{})
				require.NoError(t, err)
				c.comeBack(vmid)
				c.awaitMembers(size)
			})
		}
	}
}
