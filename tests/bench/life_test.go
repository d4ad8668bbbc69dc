// Package bench_test measures em-infra on the lab: what each command costs in a cluster of so many nodes, beside what it may cost.
//
//	go test ./tests/bench -run XXX -bench Life -benchtime 1x -timeout 60m
//	go test ./tests/bench -run XXX -bench Life -benchtime 1x -timeout 120m -nodes 3,30,100
package bench_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

var sizes = flag.String("nodes", "3,30", "the sizes of the clusters of BenchmarkLife, control plane included")

// BenchmarkLife brings a cluster up, does with it what people do, and takes it down; the metrics of the benchmark are those of up. A
// command that costs more than its limit fails it.
func BenchmarkLife(b *testing.B) {
	lives := map[int][]measured{}
	for _, size := range strings.Split(*sizes, ",") {
		nodes, err := strconv.Atoi(size)
		require.NoError(b, err, "-nodes takes numbers, separated by commas")
		b.Run(size, func(b *testing.B) {
			for b.Loop() {
				lives[nodes] = live(b, nodes)
				report(b, nodes, lives[nodes])
			}
		})
	}
	for _, miss := range scales(lives) {
		b.Error(miss)
	}
}

// live is the life of a cluster, command by command.
func live(b *testing.B, nodes int) []measured {
	b.Helper()
	s := newStack(b, nodes)
	s.run(b, "lab", "start")
	up := s.measure(b, "up", "--yes")
	up.state = s.stateBytes(b)
	life := []measured{
		up,
		s.measure(b, "preview"),
		s.measure(b, "preview", "--refresh=false"),
		s.measure(b, "up", "--yes"),
		s.measure(b, "status"),
		s.measure(b, "drift"),
	}
	writeNodes(b, s.Inventory, nodes+1)
	life = append(life, s.measure(b, "up", "--yes").named("one worker more"))
	return append(life, s.measure(b, "destroy", "--yes"))
}

// stack is a stack on a lab of its own, which ends with the benchmark.
type stack struct{ labstack.Stack }

func newStack(b *testing.B, nodes int) stack {
	b.Helper()
	workshop, err := labstack.Open()
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, workshop.Close()) })
	tool, err := workshop.Tool()
	require.NoError(b, err)
	root, err := filepath.Abs("../..")
	require.NoError(b, err)
	inventory := filepath.Join(workshop.Dir, "inventory")
	require.NoError(b, os.Mkdir(inventory, 0o700))
	cluster, err := os.ReadFile("testdata/cluster.yaml")
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(inventory, "cluster.yaml"), cluster, 0o600))
	writeNodes(b, inventory, nodes)

	s := stack{labstack.Stack{Name: fmt.Sprintf("bench-%d", nodes), Root: root, Inventory: inventory, Tool: tool}}
	require.NoError(b, labstack.RemoveFolder(s.Dir()), "what an earlier run left behind")
	b.Cleanup(func() {
		s.run(b, "lab", "stop")
		if !b.Failed() {
			require.NoError(b, labstack.RemoveFolder(s.Dir()))
		}
	})
	return s
}

// writeNodes writes an inventory of a control plane, or three where there are many nodes, and workers.
func writeNodes(b *testing.B, inventory string, nodes int) {
	b.Helper()
	controlPlanes := 1
	if nodes >= 30 {
		controlPlanes = 3
	}
	writeTopology(b, inventory, controlPlanes, nodes-controlPlanes)
}

// writeTopology writes an inventory of so many control planes and workers.
func writeTopology(b *testing.B, inventory string, controlPlanes, workers int) {
	b.Helper()
	var text strings.Builder
	text.WriteString("apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n")
	for i := range controlPlanes + workers {
		name, role := fmt.Sprintf("worker-%d", i-controlPlanes+1), "worker"
		if i < controlPlanes {
			name, role = fmt.Sprintf("control-%d", i+1), "control-plane"
		}
		fmt.Fprintf(&text, "  - {name: %s, role: %s, vmid: %d, address: 10.20.%d.%d}\n", name, role, 1000+i, 16+i/200, 11+i%200)
	}
	require.NoError(b, os.WriteFile(filepath.Join(inventory, "nodes.yaml"), []byte(text.String()), 0o600))
}

// run runs a command of the lab.
func (s stack) run(b *testing.B, args ...string) {
	b.Helper()
	output, err := s.Command(context.WithoutCancel(b.Context()), append(args, "--stack", s.Name, "--inventory", s.Inventory)...).CombinedOutput()
	require.NoError(b, err, "%s", output)
}

// stateBytes is the size of the stack's state.
func (s stack) stateBytes(b *testing.B) int64 {
	b.Helper()
	about, err := os.Stat(s.StateFile())
	require.NoError(b, err)
	return about.Size()
}
