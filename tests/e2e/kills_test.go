package e2e_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// everyKill asks for the whole table.
var everyKill = flag.Bool("kills", false, "kill each victim at each point of each operation, not a spread of them")

// operation is what is killed at its points, and run again.
type operation struct {
	name string
	// begin is the cluster at which it begins.
	begin func(t *testing.T) *rehearsal
	// args of em-infra.
	args   []string
	points []killPoint
	// holds what is true when it has ended well.
	holds func(r *rehearsal)
}

// operations have the host and the nodes do each thing that em-infra has them do.
var operations = []operation{
	{name: "up", begin: begunBirth, args: []string{"up", "--lab", "--yes"}, points: birthPoints, holds: (*rehearsal).pairIsWhole},
	{name: "destroy", begin: begunEnd, args: []string{"destroy", "--lab", "--yes"}, points: endPoints, holds: (*rehearsal).nothingIsLeft},
	{name: "removal", begin: begunRemoval, args: []string{"up", "--lab", "--yes"}, points: removalPoints, holds: (*rehearsal).oneIsLeft},
	{name: "rolling change", begin: begunRoll, args: []string{"up", "--lab", "--yes"}, points: rollPoints, holds: (*rehearsal).pairIsWhole},
}

func begunBirth(t *testing.T) *rehearsal {
	r := newRehearsal(t, "e2e-kill-"+strings.ToLower(strings.NewReplacer(" ", "-", ",", "").Replace(filepath.Base(t.Name()))))
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

// killPoint is reached by what the host, its nodes or the state say, so that it does not depend on the machine's speed.
type killPoint struct {
	name    string
	reached func(seen progressOf) bool
}

// progressOf is what an operation has done so far.
type progressOf struct {
	calls []proxmox.Call
	nodes []talosLine
	*rehearsal
}

// locked is reached when an engine works on the state.
var locked = killPoint{name: "the lock", reached: func(seen progressOf) bool { return seen.isLocked() }}

// answered is reached when the host has answered n requests to change something, by the end of their path.
func answered(verb, suffix string, n int) killPoint {
	return killPoint{
		name: nth(n, verb+" "+suffix),
		reached: func(seen progressOf) bool {
			count := 0
			for _, c := range seen.calls {
				if c.Verb == verb && strings.HasSuffix(c.Path, suffix) {
					count++
				}
			}
			return count >= n
		},
	}
}

// onNodes is reached when n calls of a method, or steps, of nodes have ended.
func onNodes(what string, n int) killPoint {
	return killPoint{
		name: nth(n, what),
		reached: func(seen progressOf) bool {
			count := 0
			for _, line := range seen.nodes {
				if line.Step == what || strings.HasSuffix(line.Method, "/"+what) {
					count++
				}
			}
			return count >= n
		},
	}
}

// inState is reached when the state has a resource, forgotten when it has it no more, and begun when it says that something is
// under way with it.
func inState(name string) killPoint {
	return killPoint{name: name + " is in the state", reached: func(seen progressOf) bool { return seen.stateHas(name) }}
}

func forgotten(name string) killPoint {
	return killPoint{name: name + " is forgotten", reached: func(seen progressOf) bool {
		return len(seen.state().Resources) > 0 && !seen.stateHas(name)
	}}
}

func begun(name string) killPoint {
	return killPoint{name: name + " is begun", reached: func(seen progressOf) bool {
		for _, pending := range seen.pending() {
			if pending.Resource.URN.Name() == name {
				return true
			}
		}
		return false
	}}
}

func nth(n int, what string) string { return []string{"", "first ", "second "}[n] + what }

var birthPoints = []killPoint{
	locked,
	inState("k3s-dev-template-vmhost-image-schematic"),
	answered("POST", "/download-url", 1),
	answered("POST", "/nodes/vmhost/qemu", 1),
	inState("k3s-dev-template-vmhost-vm"),
	begun("k3s-dev-worker-1-vm"),
	answered("POST", "/9000/clone", 1),
	answered("POST", "/9000/clone", 2),
	answered("PUT", "/resize", 1),
	answered("POST", "/status/start", 1),
	answered("POST", "/status/start", 2),
	onNodes("ApplyConfiguration", 1),
	onNodes("install", 2),
	onNodes("Bootstrap", 1),
	inState("k3s-dev-kubeconfig"),
}

var endPoints = []killPoint{
	locked,
	forgotten("k3s-dev-worker-1-membership"),
	forgotten("k3s-dev-kubeconfig"),
	forgotten("k3s-dev-bootstrap"),
	forgotten("k3s-dev-control-1-configuration"),
	begun("k3s-dev-control-1-vm"),
	begun("k3s-dev-worker-1-vm"),
	answered("POST", "/102/status/stop", 1),
	answered("DELETE", "/qemu/101/", 1),
	answered("DELETE", "/qemu/102/", 1),
	forgotten("k3s-dev-control-1-vm"),
	forgotten("k3s-dev-worker-1-vm"),
	begun("k3s-dev-template-vmhost-vm"),
	answered("DELETE", "/qemu/9000/", 1),
	forgotten("k3s-dev-secrets"),
}

var removalPoints = []killPoint{
	locked,
	begun("k3s-dev-worker-1-membership"),
	onNodes("Reset", 1),
	forgotten("k3s-dev-worker-1-membership"),
	begun("k3s-dev-worker-1-configuration"),
	forgotten("k3s-dev-worker-1-configuration"),
	begun("k3s-dev-worker-1-vm"),
	answered("DELETE", "/qemu/102/", 1),
	forgotten("k3s-dev-worker-1-vm"),
}

var rollPoints = []killPoint{
	locked,
	begun("k3s-dev-control-1-vm"),
	answered("PUT", "/101/config", 1),
	answered("POST", "/101/status/reboot", 1),
	begun("k3s-dev-control-1-configuration"),
	onNodes("ApplyConfiguration", 1),
	onNodes("boot", 1),
	begun("k3s-dev-worker-1-vm"),
	answered("PUT", "/102/config", 1),
	answered("POST", "/102/status/reboot", 1),
	begun("k3s-dev-worker-1-configuration"),
	onNodes("ApplyConfiguration", 2),
	onNodes("boot", 2),
}

// victim is what is killed.
type victim struct {
	name string
	of   func(r *rehearsal, tool int) []int
}

var victims = []victim{
	{"tool alone", func(_ *rehearsal, tool int) []int { return []int{tool} }},
	{"engine alone", func(r *rehearsal, tool int) []int { return childrenNamed(r.t, tool, "pulumi") }},
	{"plugins alone", func(r *rehearsal, tool int) []int {
		var plugins []int
		for _, engine := range childrenNamed(r.t, tool, "pulumi") {
			plugins = append(plugins, descendants(r.t, engine)...)
		}
		return plugins
	}},
	{"everything", func(r *rehearsal, tool int) []int { return append([]int{tool}, descendants(r.t, tool)...) }},
}

// TestE2EAfterAnyKill kills parts of a run, or all of it, at its points: the same command, run again, ends well, and then nothing
// would change and nothing is left over. Without -kills it takes each operation with each victim, at points that lie apart.
func TestE2EAfterAnyKill(t *testing.T) {
	t.Parallel()
	for o, op := range operations {
		for v, victim := range victims {
			for p, point := range op.points {
				if !*everyKill && p != spread(o, v, len(op.points)) {
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

// spread is the point of the short table: the victims of an operation lie a quarter of it apart.
func spread(operation, victim, points int) int {
	return (victim*points/len(victims) + operation) % points
}

func afterAKill(t *testing.T, op operation, victim victim, point killPoint) {
	r := op.begin(t)
	calls, since := len(r.calls()), time.Now()
	command, output := r.begin(op.args...)
	r.eventually(point.name, func() bool {
		return point.reached(progressOf{calls: r.calls()[calls:], nodes: r.talosSteps(since), rehearsal: r})
	})
	killed := victim.of(r, command.Process.Pid)
	require.NotEmpty(t, killed, "there is something to kill")
	for _, pid := range killed {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			require.NoError(t, err)
		}
	}
	err := command.Wait()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "the command ended before it was killed: %s", output)
	t.Logf("%d processes killed; em-infra ended with %v", len(killed), err)

	r.mustRun(0, op.args...)
	op.holds(r)
	r.eventually("nothing works on for the run that was killed", func() bool { return len(r.workers()) == 0 })
}

// talosSteps is the nodes' log since, which is not there before the first boot.
func (r *rehearsal) talosSteps(since time.Time) []talosLine {
	if _, err := os.Stat(filepath.Join(r.dir(), "calls-talos.jsonl")); err != nil {
		return nil
	}
	return r.talosLog(since)
}

// isLocked reports whether an engine works on the state.
func (r *rehearsal) isLocked() bool {
	files, err := filepath.Glob(filepath.Join(r.dir(), "state", ".pulumi", "locks", "organization", "em-infra", r.stack, "*.json"))
	require.NoError(r.t, err)
	return len(files) > 0
}

// workers are the programs that work for the rehearsal, but for its lab.
func (r *rehearsal) workers() []string {
	return slices.DeleteFunc(programsOf(r.t, r.stack), func(program string) bool {
		return slices.Contains([]string{"exe", "controlplane", "kwok"}, program)
	})
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

// descendants are all processes below one.
func descendants(t testing.TB, of int) []int {
	t.Helper()
	children := map[int][]int{}
	for _, p := range processes(t) {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	var found []int
	for queue := []int{of}; len(queue) > 0; queue = queue[1:] {
		found = append(found, children[queue[0]]...)
		queue = append(queue, children[queue[0]]...)
	}
	return found
}
