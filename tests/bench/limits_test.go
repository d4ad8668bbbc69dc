package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// limit is what a command may cost in a cluster of a size. Times depend on how fast and how busy a machine is, so their bounds are for two cores that
// are otherwise idle; processes and calls are counts, and the same on each machine.
type limit struct {
	command string
	wall    func(nodes int) time.Duration // nil if the time is compared with that of another command or of Terraform
	engines int                           // processes of the CLI
	writes  bool                          // whether it may change the host
}

// limits are the goals; docs/testing.md says which are missed, and why.
var limits = []limit{
	// Twice select, and init, come before the engine.
	{command: "up --yes", engines: 4, writes: true},
	{command: "preview", engines: 1, wall: linear(1500*time.Millisecond, 8*time.Second)},
	{command: "preview --refresh=false", engines: 1, wall: linear(1500*time.Millisecond, 8*time.Second)},
	{command: "up --yes", engines: 2},
	{command: "status", wall: constant(10 * time.Second)},
	{command: "drift", engines: 1, wall: constant(10 * time.Second)},
	{command: "one worker more", engines: 2, writes: true},
	{command: "destroy --yes", engines: 1, writes: true},
}

func constant(bound time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return bound }
}

// linear returns a bound that grows linearly with the nodes, given that of 3 nodes and that of 100.
func linear(three, hundred time.Duration) func(int) time.Duration {
	return func(nodes int) time.Duration { return three + (hundred-three)*time.Duration(nodes-3)/97 }
}

const (
	peakLimit  = 700 << 20
	stateLimit = 25 << 10 // a node
)

// misses returns what a life cost more than its limits allow.
func misses(nodes int, life []measured) []string {
	var found []string
	missed := func(m measured, format string, args ...any) {
		found = append(found, fmt.Sprintf("%d nodes, %s: %s", nodes, m.command, fmt.Sprintf(format, args...)))
	}
	for i, m := range life {
		may := limits[i]
		if m.engines > may.engines {
			missed(m, "%d processes of the CLI, more than %d", m.engines, may.engines)
		}
		if m.writes > 0 && !may.writes {
			missed(m, "%d calls that change the host, where there is nothing to do", m.writes)
		}
		if may.wall != nil && m.wall > may.wall(nodes) {
			missed(m, "%.1f s, more than %.1f s", m.wall.Seconds(), may.wall(nodes).Seconds())
		}
		for _, kind := range []string{kindTool, kindEngine, kindPlugin, kindLab} {
			if m.peak[kind] > peakLimit {
				missed(m, "%d MiB in a process of the %s, more than %d", m.peak[kind]>>20, kind, peakLimit>>20)
			}
		}
		if m.state > int64(nodes)*stateLimit {
			missed(m, "a state of %d KiB a node, more than %d", m.state>>10/int64(nodes), stateLimit>>10)
		}
	}
	return found
}

// scales returns what grew more than it may with the size of a cluster.
func scales(lives map[int][]measured) []string {
	const up, more = 0, 6 // their places in a life
	var found []string
	for _, grown := range []struct {
		what     string
		from, to int
		place    int
		limit    float64
	}{
		{"up", 30, 100, up, 4},
		{"up", 30, 300, up, 1.25 * 10}, // a node may cost a quarter more
		{"one worker more", 3, 100, more, 1.3},
	} {
		small, large := lives[grown.from], lives[grown.to]
		if small == nil || large == nil {
			continue
		}
		if ratio := large[grown.place].wall.Seconds() / small[grown.place].wall.Seconds(); ratio > grown.limit {
			found = append(found, fmt.Sprintf("%s: %.1f times as long with %d nodes as with %d, more than %g", grown.what, ratio, grown.to, grown.from, grown.limit))
		}
	}
	return found
}

// report prints the table of a life and fails for what it cost too much.
func report(b *testing.B, nodes int, life []measured) {
	b.Helper()
	table := fmt.Sprintf("%d nodes, state %d KiB a node\n%s\n", nodes, life[0].state>>10/int64(nodes), heading)
	for _, m := range life {
		table += m.String() + "\n"
	}
	b.Log("\n" + table)
	b.ReportMetric(life[0].cpu.Seconds(), "cpu-s/up")
	b.ReportMetric(life[1].cpu.Seconds(), "cpu-s/preview")
	b.ReportMetric(float64(life[0].state)/float64(nodes), "state-B/node")
	for _, miss := range misses(nodes, life) {
		b.Error(miss)
	}
}

// TestMissesAreNamed: a benchmark whose limits cannot be missed measures nothing.
func TestMissesAreNamed(t *testing.T) {
	t.Parallel()
	life := make([]measured, len(limits))
	for i, may := range limits {
		life[i] = measured{command: may.command, engines: may.engines}
	}
	require.Empty(t, misses(3, life))
	life[0].state, life[0].engines = 3*stateLimit+3<<10, 6
	life[1].wall, life[1].writes = 1600*time.Millisecond, 2
	life[4].engines = 1
	life[5].wall, life[5].peak = 11*time.Second, map[string]int64{kindEngine: 701 << 20}
	require.Equal(t, []string{
		"3 nodes, up --yes: 6 processes of the CLI, more than 4",
		"3 nodes, up --yes: a state of 26 KiB a node, more than 25",
		"3 nodes, preview: 2 calls that change the host, where there is nothing to do",
		"3 nodes, preview: 1.6 s, more than 1.5 s",
		"3 nodes, status: 1 processes of the CLI, more than 0",
		"3 nodes, drift: 11.0 s, more than 10.0 s",
		"3 nodes, drift: 701 MiB in a process of the engine, more than 700",
	}, misses(3, life))
	require.Equal(t, 8*time.Second, limits[1].wall(100))

	lasting := func(seconds time.Duration) []measured {
		life := make([]measured, len(limits))
		for i := range life {
			life[i].wall = seconds * time.Second
		}
		return life
	}
	require.Empty(t, scales(map[int][]measured{3: lasting(16), 30: lasting(20)}))
	require.Equal(t, []string{
		"up: 4.1 times as long with 100 nodes as with 30, more than 4", "one worker more: 5.1 times as long with 100 nodes as with 3, more than 1.3",
	}, scales(map[int][]measured{3: lasting(16), 30: lasting(20), 100: lasting(82)}))
}
