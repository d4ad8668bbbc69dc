package components_test

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/internal/recorder"
)

// upgrade calls a hook of a membership around an update from one image to another, and returns its refusal.
func (e *hookEngine) upgrade(t *testing.T, node, hook, before, after string) string {
	t.Helper()
	request := &pulumirpc.ResourceHookRequest{Name: node + "-membership", Type: "command:local:Command"}
	inputs := func(image string) *structpb.Struct {
		made, err := structpb.NewStruct(map[string]any{"update": "em-infra node upgrade --name " + node + " --image " + image + " --control-plane"})
		require.NoError(t, err)
		return made
	}
	request.OldInputs, request.NewInputs = inputs(before), inputs(after)
	var answer pulumirpc.ResourceHookResponse
	e.call(t, node+"-upgrade-"+hook, request, &answer)
	return answer.GetError()
}

const (
	image4  = "factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.12.4"
	image11 = "factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.12.11"
)

// TestAnUpgradeGoesThroughTheLane, and renewed credentials do not.
func TestAnUpgradeGoesThroughTheLane(t *testing.T) {
	t.Parallel()

	interrupted := make(chan struct{})
	close(interrupted) // waiting nodes are refused
	e := runHooked(t, nowhereThatRuns(interrupted, true))
	const node = "k3s-dev-control-1"
	require.Empty(t, e.upgrade(t, node, "enter", image4, image4), "the same image: nothing is asked")
	require.Empty(t, e.upgrade(t, node, "leave", image4, image4), "what has no place in the lane gives none back")
	require.Equal(t, node+" is untouched: the run was interrupted: run up again to go on", e.upgrade(t, node, "enter", image4, image11))
	require.Equal(t, node+` is untouched: "ghcr.io/siderolabs/installer:latest" is no installer image with a release of Talos: give one like factory.talos.dev/nocloud-installer/SCHEMATIC:v1.12.4`,
		e.upgrade(t, node, "enter", image4, "ghcr.io/siderolabs/installer:latest"))
	require.Equal(t, node+" is untouched: the run was interrupted: run up again to go on", e.upgrade(t, node, "enter", image4, "ghcr.io/siderolabs/installer:v1.12.11"), "a patch may name an image from elsewhere")
}

// TestAnUpgradeBringsTheImageOfThePatches: a node is installed from the image that patches name last, and a later update of its
// membership must not take it away. A machine with GPUs gets its own image after the cluster's patches.
func TestAnUpgradeBringsTheImageOfThePatches(t *testing.T) {
	t.Parallel()
	const ofCluster, ofNode = "registry.example.org/installer:v1.12.4", "registry.example.org/own/installer:v1.12.4"
	naming := func(image string) []string { return []string{"machine: {install: {image: " + image + "}}"} }
	r, err := run(t, false, discard(func(ctx *pulumi.Context, providers pulumi.ResourceOption) (*components.TalosCluster, error) {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return nil, err
		}
		worker, patchedGPU := machineFixture("worker-1", components.RoleWorker, 21), gpuMachine("gpu-2", 32, components.GPU{Mapping: "rtx3090"})
		worker.Patches, patchedGPU.Patches = naming(ofNode), naming(ofNode)
		args := clusterFixture("k3s-dev", machineFixture("control-1", components.RoleControlPlane, 11), worker,
			gpuMachine("gpu-1", 31, components.GPU{Mapping: "rtx3090"}), patchedGPU)
		args.Templates, args.Patches = []*components.TalosTemplate{template}, naming(ofCluster)
		return components.NewTalosCluster(ctx, "k3s-dev", args, providers)
	}))
	require.NoError(t, err)
	withDriver, err := components.Schematic{}.WithDriver(components.NVIDIAOpen).ID()
	require.NoError(t, err)
	for node, want := range map[string]string{
		"control-1": ofCluster, "worker-1": ofNode, "gpu-2": ofNode,
		"gpu-1": "factory.talos.dev/nocloud-installer/" + withDriver + ":v1.12.4",
	} {
		update := r.Named(t, tokenCommand, "k3s-dev-"+node+"-membership").Inputs["update"].StringValue()
		require.Equal(t, want, state.UpgradeImage(update), node)
	}
}

// TestOthersWaitForTheCanary, and only for what it has to do.
func TestOthersWaitForTheCanary(t *testing.T) {
	t.Parallel()

	e := runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) {
		args.Canary, args.CanaryPause = "k3s-dev-worker-1", time.Hour
		args.Runs = func(context.Context, int) (bool, error) { return false, nil }
	}), func(e *hookEngine) { e.parallel = 1 })
	require.Empty(t, e.upgrade(t, "k3s-dev-control-1", "enter", image4, image11), "the canary's registration is over")
}

// TestAWaitForTheCanaryIsShown, and ends with it, or with an interrupt.
func TestAWaitForTheCanaryIsShown(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		interrupts bool
		want       string
	}{
		"until it is upgraded": {},
		"until an interrupt":   {interrupts: true, want: onlyControlPlane + " is untouched: the run was interrupted: run up again to go on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			upgraded, interrupted := make(chan struct{}), make(chan struct{})
			end := sync.OnceFunc(func() { close(upgraded) })
			e := runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) {
				args.Canary, args.Interrupted = onlyWorker, interrupted
				args.Runs = func(context.Context, int) (bool, error) { return false, nil }
			}), func(e *hookEngine) {
				e.stays = true
				e.holds = func(resource string) {
					if resource == onlyWorker+"-membership" {
						<-upgraded
					}
				}
			})
			t.Cleanup(end)
			e.awaitHooks(t)
			refusal := make(chan string, 1)
			go func() { refusal <- e.upgrade(t, onlyControlPlane, "enter", image4, image11) }()
			form := regexp.MustCompile(`^waits for the canary k3s-dev-worker-1, which is upgraded before all others \(since \d\d:\d\d:\d\d\)$`)
			polltest.Until(t, func() bool { return slices.ContainsFunc(e.messages(), form.MatchString) }, "the wait is not shown")
			require.Empty(t, refusal, "it waits")
			if test.interrupts {
				close(interrupted)
			} else {
				end()
			}
			require.Equal(t, test.want, <-refusal)
		})
	}
}

// TestTooFewAtOnceForTheCanary: a wait would have no end, since it occupies the only place in which the canary could be upgraded.
func TestTooFewAtOnceForTheCanary(t *testing.T) {
	t.Parallel()

	upgraded := make(chan struct{})
	e := runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) {
		args.Canary = onlyWorker
		args.Runs = func(context.Context, int) (bool, error) { return false, nil }
	}), func(e *hookEngine) {
		e.stays, e.parallel = true, 1
		e.holds = func(resource string) {
			if resource == onlyWorker+"-membership" {
				<-upgraded
			}
		}
	})
	t.Cleanup(func() { close(upgraded) })
	e.awaitHooks(t)
	require.Equal(t, onlyControlPlane+" is untouched: with --parallel 1, all that Pulumi works on at once would wait for the canary "+onlyWorker+": run it with --parallel 2 or more",
		e.upgrade(t, onlyControlPlane, "enter", image4, image11))
}

// TestACanaryIsUpgradedBeforeItsControlPlanes: in the graph it waits for none of them.
func TestACanaryIsUpgradedBeforeItsControlPlanes(t *testing.T) {
	t.Parallel()

	for canary, want := range map[string]bool{"": true, "k3s-dev-worker-1": false, "k3s-dev-control-1": true} {
		r, err := run(t, false, nowhereWith(func(args *components.TalosClusterArgs) { args.Canary = canary }))
		require.NoError(t, err)
		waits := recorder.ShortURNs(r.Named(t, tokenCommand, "k3s-dev-worker-1-membership").RegisterRPC.GetDependencies())
		if want {
			require.Contains(t, waits, "k3s-dev-control-1-membership", "canary %q", canary)
		} else {
			require.NotContains(t, waits, "k3s-dev-control-1-membership", "canary %q", canary)
		}
	}
}
