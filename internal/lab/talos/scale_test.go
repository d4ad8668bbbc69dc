package talos_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	clusterres "github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestFiftyNodes: a large cluster comes up at once and uses a small part of the lab's memory.
func TestFiftyNodes(t *testing.T) { //nolint:paralleltest // it measures the memory of the whole process
	const (
		nodes       = 50
		mostHeapMiB = 400
	)

	l := newLab(t)
	before := heapMiB()
	began := time.Now()

	c := l.controlPlaneUp("large")
	worker := c.worker()

	for i := 1; i < nodes; i++ {
		l.install(101+i, worker)
	}

	for i := 1; i < nodes; i++ {
		l.waitStage(101+i, talos.StageRunning)
	}

	took := time.Since(began)
	members := 0
	l.eventually(func() bool { members = c.memberCount(150); return members == nodes }, "discovery is not complete")

	heap := heapMiB() - before
	t.Logf("%d nodes in %s, %d MiB of heap, %d goroutines", nodes, took, heap, runtime.NumGoroutine())
	require.LessOrEqual(t, heap, mostHeapMiB)
}

// heapMiB returns the memory in use after a garbage collection. It may shrink while other tests end.
func heapMiB() int {
	runtime.GC()

	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)

	return int(stats.HeapInuse >> 20)
}

func (c *cluster) memberCount(vmid int) int {
	c.lab.t.Helper()

	members, err := safe.StateListAll[*clusterres.Member](c.lab.t.Context(), c.admin(vmid).COSI)
	if err != nil {
		return 0
	}

	return members.Len()
}
