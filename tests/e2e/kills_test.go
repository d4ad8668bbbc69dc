package e2e_test

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// killRounds is the last of the rounds of kills that are played, and firstKillRound the first. A round kills at each point of each operation,
// and each victim at a quarter of the points; the next round has the next victim at each point. So as many rounds as there are victims are
// the whole table.
var (
	killRounds     = flag.Int("kills", 0, "rounds of kills at each point of each operation: 4 rounds kill each victim at each point; 0 is a spread of eight kills")
	firstKillRound = flag.Int("kills-from", 1, "the round to begin with, for a table that is played in parts")
)

// operation is killed at its points, and run again.
type operation struct {
	name string
	// begin is the cluster at which it begins.
	begin func(t *testing.T) *rehearsal
	// args of em-infra.
	args   []string
	points []killPoint
	// holds checks the cluster after a successful run.
	holds func(r *rehearsal)
}

// operations cover all operations of em-infra on the host and the nodes.
var operations = []operation{
	{name: "up", begin: begunBirth, args: []string{"up", "--lab", "--yes"}, points: birthPoints, holds: (*rehearsal).pairIsWhole},
	{name: "destroy", begin: begunEnd, args: []string{"destroy", "--lab", "--yes"}, points: endPoints, holds: (*rehearsal).nothingIsLeft},
	{name: "removal", begin: begunRemoval, args: []string{"up", "--lab", "--yes"}, points: removalPoints, holds: (*rehearsal).oneIsLeft},
	{name: "rolling change", begin: begunRoll, args: []string{"up", "--lab", "--yes"}, points: rollPoints, holds: (*rehearsal).pairIsWhole},
}

// begunBirth has a stack of its own. Its name is that of the test in short, since the name of a socket in its folder has a limit.
func begunBirth(t *testing.T) *rehearsal {
	name := fnv.New64a()
	_, err := io.WriteString(name, t.Name())
	require.NoError(t, err)
	r := newRehearsal(t, fmt.Sprintf("e2e-kill-%x", name.Sum64()))
	r.mustRun(0, "lab", "start")
	return r
}

func begunEnd(t *testing.T) *rehearsal { return standing(t, pair) }

// begunRemoval takes the worker out of the inventory.
func begunRemoval(t *testing.T) *rehearsal {
	r := standing(t, pair)
	nodes, _, found := strings.Cut(r.inventoryText("nodes.yaml"), "  - name: k3s-dev-worker-1")
	require.True(t, found)
	r.writeInventory("nodes.yaml", nodes)
	return r
}

// begunRoll gives both nodes other memory and a configuration for which Talos reboots.
func begunRoll(t *testing.T) *rehearsal {
	r := standing(t, pair)
	r.edit("nodes.yaml", "address: 192.168.20.11}", "address: 192.168.20.11, memoryMiB: 6144"+rebootingPatch+"}")
	r.edit("nodes.yaml", "    address: 192.168.20.21\n", "    address: 192.168.20.21\n    memoryMiB: 6144\n"+
		`    patches: [{machine: {udev: {rules: ['SUBSYSTEM=="drm", MODE="0660"']}}}]`+"\n")
	return r
}

// victim is the process that is killed.
type victim struct {
	name string
	of   func(r *rehearsal, tool int) []int
	// mayBeIdle is whether an operation can succeed without it: the engine needs no plugin any more at the end.
	mayBeIdle bool
}

var victims = []victim{
	{name: "tool alone", of: func(_ *rehearsal, tool int) []int { return []int{tool} }},
	{name: "engine alone", of: func(r *rehearsal, tool int) []int { return childrenNamed(r.t, tool, "pulumi") }},
	{name: "plugins alone", mayBeIdle: true, of: func(r *rehearsal, tool int) []int {
		var plugins []int
		for _, engine := range childrenNamed(r.t, tool, "pulumi") {
			plugins = append(plugins, descendants(r.t, engine)...)
		}
		return plugins
	}},
	{name: "everything", of: func(r *rehearsal, tool int) []int { return append([]int{tool}, descendants(r.t, tool)...) }},
}

// TestE2EAfterAnyKill kills parts of a run, or all of it, at its points: the same command, run again, ends well, and then nothing
// would change and nothing is left over. The extended tests take each operation with two victims, and each victim with two operations, at
// points that lie apart.
func TestE2EAfterAnyKill(t *testing.T) {
	t.Parallel()
	chosen := ofRounds(*firstKillRound, *killRounds)
	if *killRounds == 0 {
		extended(t)
		chosen = spread
	}
	for o, op := range operations {
		for v, victim := range victims {
			for p, point := range op.points {
				if !chosen(o, v, p, len(op.points)) {
					continue
				}
				t.Run(op.name+"/"+victim.name+"/"+point.name, func(t *testing.T) {
					t.Parallel()
					afterAKill(t, op, victim, point)
				})
			}
		}
	}
}

// spread reports whether a kill is one of the short table: the victims of an operation are a quarter of it apart.
func spread(operation, victim, point, points int) bool {
	return (operation+victim)%2 == 0 && point == (victim*points/len(victims)+operation)%points
}

// ofRounds reports whether a kill is one of the rounds from the first to the last; they are counted from one.
func ofRounds(first, last int) func(operation, victim, point, points int) bool {
	return func(operation, victim, point, _ int) bool {
		ofFirst := (point + operation) % len(victims)
		round := 1 + (victim-ofFirst+len(victims))%len(victims)
		return first <= round && round <= last
	}
}

func afterAKill(t *testing.T, op operation, victim victim, point killPoint) {
	r := op.begin(t)
	r.killAt(victim, point, op.args...)

	r.mustRun(0, op.args...)
	op.holds(r)
	r.eventually("nothing works on for the run that was killed", func() bool { return len(r.workers()) == 0 })
}

// killAt runs a command and kills a part of it at a point.
func (r *rehearsal) killAt(victim victim, point killPoint, args ...string) {
	r.t.Helper()
	seen := r.progress()
	command, output := r.begin(args...)
	r.eventually(point.name, func() bool {
		seen.look()
		return point.reached(seen)
	})
	var killed []int
	r.eventually("there is something to kill", func() bool { // an engine that has just locked its state starts its plugins later
		killed = victim.of(r, command.Process.Pid)
		return len(killed) > 0
	})
	for _, pid := range killed {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			require.NoError(r.t, err)
		}
	}
	err := command.Wait()
	var exit *exec.ExitError
	if err != nil || !victim.mayBeIdle {
		require.ErrorAs(r.t, err, &exit, "the command ended before it was killed: %s", output)
	}
	r.t.Logf("%d processes killed; em-infra ended with %v", len(killed), err)
}

// workers returns the programs that work for the rehearsal, but for its lab.
func (r *rehearsal) workers() []string {
	r.t.Helper()
	all, err := labstack.Workers(r.stack)
	require.NoError(r.t, err)
	var programs []string
	for _, w := range all {
		if !w.OfLab() {
			programs = append(programs, w.Program())
		}
	}
	return programs
}

func (r *rehearsal) pairIsWhole() {
	r.t.Helper()
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	r.mustRun(0, "preview", "--lab")
	require.ElementsMatch(r.t, []string{"k3s-dev-control-1", "k3s-dev-worker-1", "talos-v1.12.4-base"}, r.hostFiles().VMs)
	require.Empty(r.t, r.pending())
	for _, node := range []string{"k3s-dev-control-1", "k3s-dev-worker-1"} {
		require.False(r.t, r.isCordoned(node), "%s takes pods", node)
	}
}

func (r *rehearsal) oneIsLeft() {
	r.t.Helper()
	r.nodesAreReady("k3s-dev-control-1")
	r.mustRun(0, "preview", "--lab")
	require.ElementsMatch(r.t, []string{"k3s-dev-control-1", "talos-v1.12.4-base"}, r.hostFiles().VMs)
	require.Empty(r.t, r.pending())
}

func (r *rehearsal) nothingIsLeft() {
	r.t.Helper()
	require.Empty(r.t, r.hostFiles().VMs)
	require.Empty(r.t, r.pending())
	require.Empty(r.t, r.state().Resources)
}

// descendants returns all processes below one.
func descendants(t testing.TB, of int) []int {
	t.Helper()
	found, err := labstack.Descendants(of)
	require.NoError(t, err)
	return found
}
