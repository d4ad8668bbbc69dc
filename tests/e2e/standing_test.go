package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/tests/labstack"
)

// topology is a cluster with which several tests begin. To add one, add a variable.
type topology struct {
	name string
	// nodes is its nodes.yaml; "" is that of testdata. Its cluster.yaml is that of testdata.
	nodes string
}

var (
	// pair is a control plane, VM 101, and a worker, VM 102, as in testdata.
	pair = topology{name: "pair"}
	// five is three control planes, VM 101 to 103, and two workers, VM 111 and 112.
	five = topology{name: "five", nodes: highlyAvailable("")}
	// three is three control planes alone, VM 101 to 103.
	three = topology{name: "three", nodes: "apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n" + controlPlane(1, 101) + controlPlane(2, 102) + controlPlane(3, 103)}
	// driven is three control planes, VM 101 to 103, a worker, VM 111, and a worker with a GPU, VM 112.
	driven = topology{name: "driven", nodes: strings.Replace(highlyAvailable(""),
		"name: k3s-dev-worker-2, role: worker, vmid: 112", "name: k3s-dev-gpu-1, role: gpu-worker, gpus: [{mapping: rtx3090}], vmid: 112", 1)}
)

// fiveNodes are the Nodes of five, as Kubernetes lists them.
var fiveNodes = []string{"k3s-dev-control-1", "k3s-dev-control-2", "k3s-dev-control-3", "k3s-dev-worker-1", "k3s-dev-worker-2"}

// standing returns a rehearsal of which the cluster is up and whole: [rehearsal.status] finds nothing that it lacks, and a
// preview is empty. It is what a test begins with that does not look at the birth itself.
//
// A birth costs three times as much as a return to it, so a topology is born once for as many tests as run at once. What was
// born is a lane: a stack, a lab with its addresses and ports, and a copy of the lab's folder from just after the birth. A test has
// a lane to itself, with the folder as it was copied and the files of the inventory as they were, and gives it back. It may change
// everything. Since a lab that is started again is a host after a power cut, the machines have booted once more since their birth,
// and the logs of calls begin with those of the birth: count from where the test begins (seen := len(r.calls())).
//
// The lane of a test that fails is kept as it is, as is the folder of any rehearsal, and not used again.
func standing(t testing.TB, of topology) *rehearsal {
	t.Helper()
	skipIfShort(t)
	l := lanes.take(t, of)
	return l.lend(t, func() { lanes.giveBack(l) })
}

// lane is a cluster with its initial state.
type lane struct {
	topology topology
	number   int
	born     bool
	claim    *os.File // locked, so that no other run of these tests in this checkout takes the number
}

// lend gives a test the lane, and returns it when the test has succeeded.
func (l *lane) lend(t testing.TB, back func()) *rehearsal {
	t.Helper()
	r := l.rehearsal(t)
	t.Cleanup(func() {
		r.stopLab()
		if t.Failed() {
			t.Logf("the lab of this test is kept in %s", r.dir())
			return
		}
		back()
	})
	l.comeBack(r)
	return r
}

func (l *lane) stack() string { return fmt.Sprintf("standing-%s-%d", l.topology.name, l.number) }

// copied returns where the folder of the lab is kept as it was after the birth.
func (l *lane) copied() string { return filepath.Join(workshop.Dir, l.stack(), "lab") }

// rehearsal returns the lane for a test. The folder of the inventory is the same for all tests, since the lab's state may name
// it.
func (l *lane) rehearsal(t testing.TB) *rehearsal {
	t.Helper()
	r := &rehearsal{t: t, stack: l.stack(), root: projectRoot(t), inventory: filepath.Join(workshop.Dir, l.stack(), "inventory")}
	require.NoError(t, os.RemoveAll(r.inventory))
	require.NoError(t, os.MkdirAll(r.inventory, 0o700))
	r.writeTestdata()
	if l.topology.nodes != "" {
		r.writeInventory("nodes.yaml", l.topology.nodes)
	}
	return r
}

// comeBack restores the lane's initial state; a new lane is created first.
func (l *lane) comeBack(r *rehearsal) {
	r.t.Helper()
	if !l.born {
		require.NoError(r.t, labstack.RemoveFolder(r.dir()), "what an earlier run left behind")
		r.mustRun(0, "up", "--lab", "--yes")
		r.stopLab()
		copyLab(r.t, r.dir(), l.copied())
		l.born = true
	}
	copyLab(r.t, l.copied(), r.dir())
	started := time.Now()
	r.mustRun(0, "lab", "start")
	r.isWhole(started)
}

// copyLab makes the folder of a lab that does not run like another. The plugins stay where they are: no test changes them.
func copyLab(t testing.TB, from, to string) {
	t.Helper()
	require.NoError(t, labstack.Copy(from, to))
}

// isWhole waits until the cluster of a restarted lab is complete: each node has reported to Kubernetes since, and status shows
// no error.
func (r *rehearsal) isWhole(started time.Time) {
	r.t.Helper()
	nodes := len(r.nodes())
	r.eventually("each node renews its lease", func() bool {
		leases, err := r.kubernetes().CoordinationV1().Leases("kube-node-lease").List(r.t.Context(), metav1.ListOptions{})
		return err == nil && renewedSince(leases.Items, started) == nodes
	})
	r.eventually("nothing is lacking", func() bool { return r.run("status", "--lab").code == 0 })
}

func renewedSince(leases []coordinationv1.Lease, started time.Time) int {
	count := 0
	for _, lease := range leases {
		if lease.Spec.RenewTime != nil && lease.Spec.RenewTime.After(started) {
			count++
		}
	}
	return count
}

// laneSet is the lanes of this process. There are never more of a topology than tests have run at once.
type laneSet struct {
	mu   sync.Mutex
	free []*lane // those that no test has now
}

var lanes laneSet

// take returns a lane of that topology that is free, or a new one.
func (s *laneSet) take(t testing.TB, of topology) *lane {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.free {
		if l.topology.name == of.name {
			s.free = append(s.free[:i:i], s.free[i+1:]...)
			return l
		}
	}
	l := &lane{topology: of}
	l.claimNumber(t)
	return l
}

// giveBack lets the next test have a lane.
func (s *laneSet) giveBack(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, l)
}

// remove removes the folders of the lanes that are free, in which no lab runs any more.
func (s *laneSet) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.free {
		if err := labstack.RemoveFolder(filepath.Join("..", "..", ".lab", l.stack())); err != nil {
			return err
		}
	}
	return nil
}

// claimNumber finds the first number that no other run of these tests has in this checkout.
func (l *lane) claimNumber(t testing.TB) {
	t.Helper()
	number, claim, err := labstack.ClaimNumber(projectRoot(t), "standing-"+l.topology.name)
	require.NoError(t, err)
	l.number, l.claim = number, claim // open as long as this process runs
}

// stopLab stops the rehearsal's lab, also when the test has ended.
func (r *rehearsal) stopLab() {
	r.t.Helper()
	stop := r.command(context.Background(), "lab", "stop", "--stack", r.stack)
	if output, err := stop.CombinedOutput(); err != nil {
		r.t.Errorf("lab stop: %v\n%s", err, output)
	}
}
