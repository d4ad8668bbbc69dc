package components_test

import (
	"context"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/components"
)

// enterOff calls the hook before an update that switches a machine on and gives it 8 GiB.
func (e *hookEngine) enterOff(t *testing.T, node string, before float64) string {
	t.Helper()
	inputs := func(started bool, memory float64) *structpb.Struct {
		object, err := structpb.NewStruct(map[string]any{"started": started, "memory": map[string]any{"dedicated": memory}})
		require.NoError(t, err)
		return object
	}
	var answer pulumirpc.ResourceHookResponse
	e.call(t, node+"-enter", &pulumirpc.ResourceHookRequest{
		Name: node + "-vm", Type: "proxmoxve:VM/virtualMachine:VirtualMachine", OldInputs: inputs(false, before), NewInputs: inputs(true, 8192),
	}, &answer)
	return answer.GetError()
}

// TestAWorkerThatIsOffWaitsForAControlPlane: the Talos API of a worker opens when it has a certificate from a control plane. Without one, the
// worker cannot be asked to shut down, and its update does not end.
func TestAWorkerThatIsOffWaitsForAControlPlane(t *testing.T) {
	t.Parallel()
	const worker, controlPlane = "k3s-dev-worker-1", "k3s-dev-control-1"
	for _, test := range []struct {
		name   string
		runs   func(context.Context, int) (bool, error)
		before float64
		node   string
		waits  bool
	}{
		{"the control plane is off", func(context.Context, int) (bool, error) { return false, nil }, 4096, worker, true},
		{"nothing else differs", func(context.Context, int) (bool, error) { return false, nil }, 8192, worker, false},
		{"it is the control plane", func(context.Context, int) (bool, error) { return false, nil }, 4096, controlPlane, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			interrupted := make(chan struct{})
			want, runs := "", test.runs
			if test.waits {
				want = worker + " is untouched: the run was interrupted: run up again to go on"
				runs = secondCall(func() { close(interrupted) }, test.runs)
			}
			e := runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) {
				args.Runs, args.Interrupted = runs, interrupted
			}))
			require.Equal(t, want, e.enterOff(t, test.node, test.before))
		})
	}
}
