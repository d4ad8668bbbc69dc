package stacks_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/recorder"
	"github.com/em-infra/em-infra/stacks"
)

// inventories are those with a golden plan, by their special feature; their texts are fixtures of the inventory's tests.
var inventories = []string{
	"minimal", "ha", "three-hosts", "shared-template", "gpus-of-one-mapping", "gpu-by-address", "gpu-drivers", "dual-stack", "data-disks", "dhcp",
	"endpoint-by-name", "old-contract", "talos-1-13", "talos-1-14", "every-key",
}

func fixture(name string) stacks.Options {
	return stacks.Options{
		Root: "..", Inventory: filepath.Join("internal", "inventory", "testdata", "valid-"+name),
		NewBirth: func() string { return "00000000-0000-4000-8000-000000000000" },
		Secrets: func(context.Context, string) (map[string]string, error) {
			return map[string]string{"truenas.apiKey": "made-up API key"}, nil
		},
	}
}

func TestPlansAreGolden(t *testing.T) {
	t.Parallel()

	for _, name := range inventories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r, err := runWith(t, fixture(name), reachable(nil))
			require.NoError(t, err)
			golden.Equal(t, "testdata/plan/"+name+".golden", r.Plan())
		})
	}
}

// samples are the stacks of this repository.
var samples = []string{"k3s-dev", "k8s-prod"}

func TestPlansOfTheSamplesAreGolden(t *testing.T) {
	t.Parallel()

	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			options := fixture(name)
			options.Inventory = filepath.Join("stacks", name)
			r, err := runWith(t, options, reachable(nil))
			require.NoError(t, err)
			golden.Equal(t, "testdata/plan/stacks-"+name+".golden", r.Plan())
		})
	}
}

func TestPreviewsRegisterWhatUpdatesDo(t *testing.T) {
	t.Parallel()

	for _, name := range inventories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			updated, err := runWith(t, fixture(name), reachable(nil))
			require.NoError(t, err)
			previewed, err := recorder.Run(t, stacks.Program(fixture(name)), recorder.Config(reachable(nil)), recorder.Preview)
			require.NoError(t, err)
			require.Equal(t, slices.Sorted(maps.Keys(updated.Resources)), slices.Sorted(maps.Keys(previewed.Resources)))
			require.Equal(t, updated.Plan(), previewed.Plan())
		})
	}
}

func TestEveryCustomResourceHasAProviderOfTheStack(t *testing.T) {
	t.Parallel()

	for _, name := range inventories {
		r, err := runWith(t, fixture(name), reachable(nil))
		require.NoError(t, err)
		for key, args := range r.Resources {
			if args.Custom && !strings.HasPrefix(args.TypeToken, "pulumi:") {
				require.NotEmpty(t, args.RegisterRPC.GetProvider(), "%s: %s", name, key)
			}
		}
		for _, call := range r.Calls {
			require.NotEmpty(t, call.Provider, "%s: %s", name, call.Token)
		}
	}
}

// TestMachinesAreGolden keeps the inputs of the virtual machines of the richest inventories: the provider fills in properties
// that are not set, and a later preview shows them as a difference (F22).
func TestMachinesAreGolden(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ inventory, machine string }{
		{"every-key", "every-key-gpu-1-vm"},
		{"minimal", "lab-cp-1-vm"},
		{"minimal", "lab-template-vmhost-vm"},
		{"dhcp", "lab-w-1-vm"},
		{"dual-stack", "lab-cp-1-vm"},
		{"data-disks", "lab-w-1-vm"},
		{"three-hosts", "lab-cp-3-vm"},
		{"shared-template", "lab-w-1-vm"},
		{"shared-template", "lab-gpu-1-vm"},
		{"gpu-drivers", "lab-gpu-3-vm"},
	} {
		t.Run(test.inventory+" "+test.machine, func(t *testing.T) {
			t.Parallel()

			r, err := runWith(t, fixture(test.inventory), reachable(nil))
			require.NoError(t, err)
			inputs, err := recorder.Inputs(r.Named(t, tokenVM, test.machine))
			require.NoError(t, err)
			golden.Equal(t, "testdata/machine/"+test.inventory+"/"+test.machine+".json", inputs)
		})
	}
}

// many returns an inventory of three control planes and workers, in a folder of its own.
func many(t testing.TB, nodes int) stacks.Options {
	t.Helper()
	dir := t.TempDir()
	cluster, err := os.ReadFile(filepath.Join("k3s-dev", "cluster.yaml"))
	require.NoError(t, err)
	text := strings.NewReplacer("cidr: 192.168.20.0/24", "cidr: 192.168.16.0/20", "10.244.0.0/16", "10.240.0.0/14").Replace(string(cluster))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster.yaml"), []byte(text), 0o600))
	var list strings.Builder
	list.WriteString("apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n")
	for i := range nodes {
		role := "worker"
		if i < 3 {
			role = "control-plane"
		}
		fmt.Fprintf(&list, "  - {name: node-%d, role: %s, vmid: %d, address: 192.168.%d.%d}\n", i, role, 1000+i, 24+i/200, 1+i%200)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nodes.yaml"), []byte(list.String()), 0o600))
	return stacks.Options{Root: "..", Inventory: dir}
}

// planCost returns what a plan allocates, in number and in bytes: unlike seconds, that does not depend on the machine's speed.
func planCost(t testing.TB, options stacks.Options) (times, bytes float64, plan *recorder.Recorder) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	plan, err := runWith(t, options, reachable(nil))
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc), plan
}

func TestThePlanOfFiveHundredNodesIsWholeAndLinear(t *testing.T) { //nolint:paralleltest // allocations of other tests would count
	if testing.Short() {
		t.Skip("plans 600 nodes")
	}
	hundredTimes, hundredBytes, _ := planCost(t, many(t, 100))
	times, bytes, r := planCost(t, many(t, 500))
	machines := 0
	for _, args := range r.Resources {
		if args.TypeToken == tokenVM {
			machines++
		}
	}
	require.Equal(t, 501, machines, "the nodes and one template")

	// Five times the nodes cost five times as much, or 25 times it if something is quadratic.
	t.Logf("500 nodes to 100: %.1f times the allocations, %.1f times the bytes", times/hundredTimes, bytes/hundredBytes)
	require.Less(t, times/hundredTimes, 6.0)
	require.Less(t, bytes/hundredBytes, 6.0)
}

// planLimit is what 500 nodes may take of the program's time.
const planLimit = 10 * time.Second

func BenchmarkPlanOf500Nodes(b *testing.B) {
	options := many(b, 500)
	for b.Loop() {
		_, err := runWith(b, options, reachable(nil))
		require.NoError(b, err)
	}
	if perPlan := b.Elapsed() / time.Duration(b.N); perPlan > planLimit {
		b.Fatalf("a plan of 500 nodes takes %s, more than %s", perPlan, planLimit)
	}
}
