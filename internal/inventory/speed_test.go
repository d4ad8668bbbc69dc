package inventory_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
)

// largeCluster has a name for which no two of 10,000 derived MAC addresses are the same. With 24 bits, other names can have duplicates.
const largeCluster = `apiVersion: em-infra/v1alpha1
kind: Cluster
name: large-20
talos: {contract: v1.12}
kubernetes:
  endpoint: {vip: 10.128.0.10}
  podSubnets: [10.0.0.0/9]
  serviceSubnets: [172.16.0.0/12]
network: {cidr: 10.128.0.0/16, gateway: 10.128.0.1}
proxmox: {host: vmhost, diskStorage: tank, template: {vmid: 9000}}
`

// largeNodes returns nodes.yaml with count nodes, three of them control planes and the others workers.
func largeNodes(count int) string {
	var text strings.Builder
	text.WriteString("apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n")
	for i := range count {
		role := "worker"
		if i < 3 {
			role = "control-plane"
		}
		fmt.Fprintf(&text, "  - {name: n-%d, role: %s, vmid: %d, address: 10.128.%d.%d}\n", i, role, 10000+i, 1+i/250, 1+i%250)
	}
	return text.String()
}

// BenchmarkParse measures the validation of an inventory from the text of its files. 1,000 nodes must take 50 ms at most.
func BenchmarkParse(b *testing.B) {
	for _, count := range []int{10, 100, 1000, 10000} {
		nodes := []byte(largeNodes(count))
		b.Run(fmt.Sprintf("nodes=%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := inventory.Parse("large", []byte(largeCluster), nodes)
				require.NoError(b, err)
			}
			if limit := 50 * time.Millisecond; count == 1000 && b.Elapsed()/time.Duration(b.N) > limit {
				b.Errorf("1,000 nodes take more than %s", limit)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*count), "µs/node")
		})
	}
}

// The cost is linear in the number of nodes: a node of 10,000 needs no more allocations and bytes than a node of 1,000. Allocations are counted
// because times also depend on the machine.
func TestCostIsLinear(t *testing.T) { //nolint:paralleltest // allocations of other tests would count
	allocated := func(count int) (times, bytes uint64) {
		nodes := []byte(largeNodes(count))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := inventory.Parse("large", []byte(largeCluster), nodes)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		return (after.Mallocs - before.Mallocs) / uint64(count), (after.TotalAlloc - before.TotalAlloc) / uint64(count)
	}
	smallTimes, smallBytes := allocated(1000)
	largeTimes, largeBytes := allocated(10000)
	t.Logf("a node of 1,000: %d allocations of %d bytes; of 10,000: %d of %d", smallTimes, smallBytes, largeTimes, largeBytes)
	require.Less(t, float64(largeTimes), 1.2*float64(smallTimes), "allocations for each node")
	require.Less(t, float64(largeBytes), 1.2*float64(smallBytes), "bytes for each node")
}

// With as many nodes as the file may hold, all of them wrong, the result is a list that a user can read.
func TestProblemsAreLimited(t *testing.T) {
	t.Parallel()
	nodes := "apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes: [" + strings.Repeat("{},", 10000) + "]\n"
	_, err := inventory.Parse("large", []byte(largeCluster), []byte(nodes))
	require.ErrorContains(t, err, "large/nodes.yaml: has more problems than are listed: mend these first\n")
	require.ErrorContains(t, err, "\n1001 problems in 1 file; nothing was touched")
	_, err = inventory.Parse("large", []byte(largeCluster), []byte(strings.Replace(nodes, "]", "{}]", 1)))
	require.EqualError(t, err, "large/nodes.yaml:3: nodes: has too many items (at most 10000; got 10001): remove some\n"+
		"1 problem in 1 file; nothing was touched")
}

// A file that is larger than any inventory is not even parsed.
func TestTooLargeFile(t *testing.T) {
	t.Parallel()
	_, err := inventory.Parse("large", []byte(largeCluster), []byte(largeNodes(10)+strings.Repeat("#", 1<<20)))
	require.EqualError(t, err, "large/nodes.yaml: is too large (at most 1048576 bytes): remove what does not belong here\n"+
		"1 problem in 1 file; nothing was touched")
}
