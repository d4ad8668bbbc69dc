package components_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/components"
)

// enterOff calls the hook before an update that switches the only control plane on and gives it as much memory.
func (e *hookEngine) enterOff(t *testing.T, memory int) string {
	t.Helper()
	inputs := func(started bool, memory int) *structpb.Struct {
		object, err := structpb.NewStruct(map[string]any{"started": started, "memory": map[string]any{"dedicated": memory}})
		require.NoError(t, err)
		return object
	}
	var answer pulumirpc.ResourceHookResponse
	e.call(t, "k3s-dev-control-1-enter", &pulumirpc.ResourceHookRequest{
		Name: "k3s-dev-control-1-vm", Type: "proxmoxve:VM/virtualMachine:VirtualMachine",
		OldInputs: inputs(false, 4096), NewInputs: inputs(true, memory),
	}, &answer)
	return answer.GetError()
}

func TestAMachineThatIsOffIsNotRebootedBeforeItHasBooted(t *testing.T) {
	t.Parallel()
	off := func(context.Context, int) (bool, error) { return false, nil }

	t.Run("nobody can switch it on", func(t *testing.T) {
		t.Parallel()
		e := runHooked(t, nowhere(nil))
		require.Equal(t, "k3s-dev-control-1 is off, and a change of its hardware would reboot it before it listens to its power button: "+
			"start VM 111 in Proxmox VE, wait until its Talos answers, then run up again", e.enterOff(t, 8192))
		require.Empty(t, e.enterOff(t, 4096), "a start alone is the provider's")
	})
	t.Run("it is switched on and waited for", func(t *testing.T) {
		t.Parallel()
		interrupted, started := make(chan struct{}), atomic.Int64{}
		e := runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) {
			args.Runs, args.Interrupted = off, interrupted
			args.SwitchOn = func(_ context.Context, vmid int) error {
				started.Store(int64(vmid))
				close(interrupted) // nobody is going to answer
				return nil
			}
		}))
		require.Equal(t, "waiting for node k3s-dev-control-1: the run was interrupted: run up again to go on", e.enterOff(t, 8192))
		require.Equal(t, int64(111), started.Load())
	})
	t.Run("it does not start", func(t *testing.T) {
		t.Parallel()
		e := runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) {
			args.Runs = off
			args.SwitchOn = func(context.Context, int) error { return errors.New("there is not so much memory") }
		}))
		require.Empty(t, e.enterOff(t, 8192), "the change may be what lets it start again")
	})
}
