package recovering_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/recovering"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// emptyState is a state without resources.
type emptyState struct{ imports int }

func (s *emptyState) Seen(context.Context) (*engine.Exported, error)  { return &engine.Exported{}, nil }
func (s *emptyState) Fresh(context.Context) (*engine.Exported, error) { return &engine.Exported{}, nil }
func (s *emptyState) Past() ([]recovery.Past, error)                  { return nil, nil }

func (s *emptyState) Import(context.Context, *engine.Exported) error {
	s.imports++
	return nil
}

// busyHost has a task that hangs until it is stopped.
type busyHost struct {
	recovering.Host

	hangs   bool
	awaited [][]int
	stopped []string
}

var hung = &pve.HungError{Machine: 102, Silence: 2 * time.Minute, Task: pve.Task{
	UPID: "UPID:vmhost:0001:0002:0003:qmclone:9000:em-infra@pve!x:", Node: "vmhost", Type: "qmclone", VMID: 9000, Log: []string{"5", "6"},
}}

func (h *busyHost) AwaitMade(_ context.Context, vmids []int) error {
	h.awaited = append(h.awaited, vmids)
	if h.hangs {
		return hung
	}
	return nil
}

func (h *busyHost) StopTask(_ context.Context, task pve.Task) error {
	h.hangs = false
	h.stopped = append(h.stopped, task.UPID)
	return nil
}

func recoveryOn(t *testing.T, host *busyHost, state *emptyState) *recovering.Recovery {
	t.Helper()
	inv, err := inventory.Load("../../../stacks/k3s-dev")
	require.NoError(t, err)
	inv.Nodes = nil // no other queries of the host
	return &recovering.Recovery{
		Workspace: &workspace.Workspace{Stack: "k3s-dev"}, Inventory: inv, State: state, Place: remedy.Place{Stack: "--stack k3s-dev --lab"}, Now: time.Now, Say: func(string) {},
		Host: func(func(string)) (recovering.Host, error) { return host, nil },
	}
}

const question = "VM 102 on vmhost waits for the task UPID:vmhost:0001:0002:0003:qmclone:9000:em-infra@pve!x:, which has written nothing for 120 s (last: \"6\")"

// TestATaskThatHangsIsStoppedByACommand: without a person, or without consent, the error contains the command with the flags of this
// run, and nothing is changed.
func TestATaskThatHangsIsStoppedByACommand(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(context.Context, string, string, string) (bool, error){
		"nobody": nil,
		"no":     func(context.Context, string, string, string) (bool, error) { return false, nil },
	} {
		host, state := &busyHost{hangs: true}, &emptyState{}
		r := recoveryOn(t, host, state)
		r.Ask = ask
		require.EqualError(t, r.Recover(t.Context(), false), question+
			": stop it with `em-infra task stop 102 --stack k3s-dev --lab`, or see in Proxmox VE why it hangs and wait for it; then run up again", name)
		require.Empty(t, host.stopped, name)
		require.Zero(t, state.imports, name)
	}
}

// TestATaskThatHangsIsStoppedByAPerson checks that the recovery then starts again.
func TestATaskThatHangsIsStoppedByAPerson(t *testing.T) {
	t.Parallel()
	host := &busyHost{hangs: true}
	r := recoveryOn(t, host, &emptyState{})
	var asked []string
	r.Ask = func(_ context.Context, about, text, yes string) (bool, error) {
		asked = append(asked, about, text, yes)
		return true, nil
	}
	require.NoError(t, r.Recover(t.Context(), false))
	require.Equal(t, []string{question, "Type stop to have it stopped, and anything else to leave it: ", "stop"}, asked)
	require.Equal(t, []string{hung.UPID}, host.stopped)
	require.Len(t, host.awaited, 2)
}

func TestAQuestionThatIsInterruptedIsARefusal(t *testing.T) {
	t.Parallel()
	interrupted := errors.New("interrupted")
	r := recoveryOn(t, &busyHost{hangs: true}, &emptyState{})
	r.Ask = func(context.Context, string, string, string) (bool, error) { return false, interrupted }
	err := r.Recover(t.Context(), false)
	require.ErrorIs(t, err, interrupted)
	require.ErrorAs(t, err, new(*refusal.Error))
}

// TestAHostThatCannotBeReachedEndsARecovery before it examines the machines of the state.
func TestAHostThatCannotBeReachedEndsARecovery(t *testing.T) {
	t.Parallel()
	state := &emptyState{}
	r := recoveryOn(t, nil, state)
	r.Host = func(func(string)) (recovering.Host, error) { return nil, refusal.Of(pve.ErrEndpoint) }
	require.ErrorIs(t, r.Recover(t.Context(), true), pve.ErrEndpoint)
	require.Zero(t, state.imports)
}
