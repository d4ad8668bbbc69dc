package removal_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"
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

const (
	first = talostest.First
	size  = 3 // control planes of a cluster that loses one
)

// cluster is a number of emulated control planes with real Kubernetes processes.
type cluster struct {
	*talostest.Cluster
	t       *testing.T
	nodes   []rolling.Node
	faults  *fault.Set
	killer  *talostest.Killer
	hangs   *hangs
	printed *strings.Builder
}

func newCluster(t *testing.T, size int) *cluster {
	t.Helper()
	faults := fault.NewSet([32]byte{1}, talos.FaultKinds())
	c := &cluster{t: t, faults: faults, killer: talostest.NewKiller(talos.NewFaultSet(faults, nil)), hangs: &hangs{}, printed: &strings.Builder{}}
	c.hangs.Faults = c.killer
	c.Cluster = talostest.NewCluster(t, "v1.12.4", constants.DefaultKubernetesVersion,
		talos.Config{Kubernetes: kubernetestest.NewClusters(t), Faults: c.hangs})
	for vmid := first; vmid < first+size; vmid++ {
		c.nodes = append(c.nodes, rolling.Node{Name: nameOf(vmid), Address: c.Address(vmid), ControlPlane: true})
		c.Join(vmid, nameOf(vmid), machinetype.TypeControlPlane)
	}
	c.awaitMembers(size)
	return c
}

// lend returns the cluster for a part of the test, with nothing printed yet. Its failures are those of that part.
func (c *cluster) lend(t *testing.T) *cluster {
	lent := *c
	lent.t, lent.Cluster, lent.printed = t, c.For(t), &strings.Builder{}
	return &lent
}

// restore ends all hindrances, and has each control plane that was removed join again with a new machine.
func (c *cluster) restore() {
	c.t.Helper()
	c.hangs.method.Store("")
	c.hangs.etcdOf.Store(0)
	members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: c.nodes}.Members(c.t.Context())
	require.NoError(c.t, err)
	for vmid := first; vmid < first+len(c.nodes); vmid++ {
		if slices.ContainsFunc(members, func(m nodeops.EtcdMember) bool { return m.Name == nameOf(vmid) }) {
			continue
		}
		require.NoError(c.t, c.Fleet.Destroy(vmid))
		c.joinAgain(vmid)
	}
	c.awaitMembers(len(c.nodes))
}

// hangs never answers the calls of one method, and runs an action at the next call of another method.
type hangs struct {
	talos.Faults

	method atomic.Value
	next   atomic.Pointer[action]
	etcdOf atomic.Int64 // the machine whose etcd does not start
}

// action happens once during a call: before the work is done, or after it is done. In the second case the call is never answered.
type action struct {
	method string
	done   bool
	do     func() error
	result chan error
}

// At implements [talos.Faults].
func (h *hangs) At(p talos.Point) talos.Effect {
	if path.Base(p.Name) == h.method.Load() && !p.Done || p.Name == string(talos.StepEtcdStart) && int64(p.VMID) == h.etcdOf.Load() {
		return talos.Effect{Hang: true}
	}
	if next := h.next.Load(); next != nil && path.Base(p.Name) == next.method && p.Done == next.done && h.next.CompareAndSwap(next, nil) {
		if next.done {
			go func() { next.result <- next.do() }() // the end of the machine waits for the call
			return talos.Effect{Hang: true}
		}
		next.result <- next.do()
	}
	return h.Faults.At(p)
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
	c.joinAgain(vmid)
}

// joinAgain has a machine without a configuration join.
func (c *cluster) joinAgain(vmid int) {
	c.t.Helper()
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
			Name: nameOf(vmid), Address: c.Address(vmid).String(), Talosconfig: c.Talosconfig(), DrainTimeout: 5 * time.Minute, Progress: c.printed,
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
