package operator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// destroyParts implements all parts of a destroy and records the order of their calls.
type destroyParts struct {
	parts

	left     status.Left
	recorded recordedEvents
}

func (p *destroyParts) CheckUnprotected(context.Context) error { return p.step("protection") }
func (p *destroyParts) CheckNotNeeded(context.Context) error   { return p.step("need of others") }
func (p *destroyParts) CheckNAS(context.Context) error         { return p.step("NAS") }
func (p *destroyParts) ConfirmDestroy(context.Context) error   { return p.step("preview and consent") }
func (p *destroyParts) DestroyAll(context.Context) error       { return p.step("engine destroy") }
func (p *destroyParts) ForgetCredentials() error               { return p.step("forget credentials") }

func (p *destroyParts) Possessions(context.Context) (operator.Possessions, error) {
	return operator.Possessions{}, p.step("what the stack has")
}

func (p *destroyParts) LeftOf(context.Context, operator.Possessions) (status.Left, error) {
	return p.left, p.step("what is left")
}

func (p *destroyParts) order(lab bool) operator.DestroyRun {
	place := remedy.Place{Name: "k3s-dev", Stack: "--stack k3s-dev"}
	if lab {
		place = remedy.Place{Name: "k3s-dev", Stack: "--stack k3s-dev --lab", Lab: "--stack k3s-dev"}
	}
	return operator.DestroyRun{Recovery: p, Host: p, State: p, Copies: p, Engine: p, Storage: p, Stack: "k3s-dev", Place: place, Tell: p.recorded.Handle}
}

// wholeDestroy is the order of the steps of a destroy.
var wholeDestroy = []string{
	"end what a killed run left working", "protection", "need of others", "NAS", "backup before-destroy", "recover (going up: false)", "preview and consent",
	"delete remnants", "what the stack has", "engine destroy", "forget credentials", "what is left",
}

func TestTheOrderOfADestroy(t *testing.T) {
	t.Parallel()
	p := &destroyParts{}
	result, err := p.order(false).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &operator.DestroyResult{}, result)
	require.Equal(t, wholeDestroy, p.steps)
	require.Empty(t, p.recorded, "nothing is left")
}

// TestNothingIsDestroyedAfterARefusal checks that no step follows a refusal or failure. Before the consent nothing is deleted, and
// the credentials are removed only after the cluster.
func TestNothingIsDestroyedAfterARefusal(t *testing.T) {
	t.Parallel()
	for i, step := range wholeDestroy {
		p := &destroyParts{parts: parts{failing: step}}
		result, err := p.order(false).Run(t.Context())
		require.Error(t, err, step)
		require.Nil(t, result, step)
		require.Equal(t, wholeDestroy[:i+1], p.steps, "after %q", step)
		if step != "engine destroy" {
			require.ErrorIs(t, err, errStep, step)
		}
	}
}

// TestADestroyThatFails checks that the error contains the engine's failure and the command to continue.
func TestADestroyThatFails(t *testing.T) {
	t.Parallel()
	p := &destroyParts{parts: parts{failing: "engine destroy"}}
	_, err := p.order(false).Run(t.Context())
	require.Equal(t, &operator.FailedError{Operation: "destroy", Causes: []operator.Cause{}, Again: errStep.Error()}, err)
	require.NotContains(t, p.steps, "forget credentials", "the cluster may stand")
}

// TestWhatADestroyLeaves checks that each leftover is named with its host and what to do. A machine that is left is an error,
// because the state does not contain it.
func TestWhatADestroyLeaves(t *testing.T) {
	t.Parallel()
	iso := status.Orphan{What: "ISO local:iso/talos.iso", Host: "vmhost", Remove: "pvesm free local:iso/talos.iso"}
	disk := status.Orphan{What: "disk tank:vm-120-disk-0", Host: "vmhost", Remove: "pvesm free tank:vm-120-disk-0"}
	running := status.Orphan{What: "VM 120, which runs", Host: "vmhost", Do: "see what it is for"}
	off := status.Orphan{What: "VM 121", Host: "vmhost", Remove: "qm destroy 121 --purge"}
	for _, test := range []struct {
		name     string
		lab      bool
		left     status.Left
		recorded recordedEvents
		isos     int
		err      string
	}{
		{
			name: "images and disks", left: status.Left{ISOs: []status.Orphan{iso}, Disks: []status.Orphan{disk}}, isos: 1,
			recorded: recordedEvents{
				operator.LeftOnHost{What: disk.What, Do: "if it is no longer needed: `pvesm free tank:vm-120-disk-0` on vmhost"},
				operator.LeftOnHost{What: iso.What, Do: "if it is no longer needed: `pvesm free local:iso/talos.iso` on vmhost"},
			},
		},
		{
			name: "machines", left: status.Left{Machines: []status.Orphan{running, off}},
			recorded: recordedEvents{
				operator.LeftOnHost{What: running.What, Do: "see what it is for"},
				operator.LeftOnHost{What: off.What, Do: "if it is no longer needed: `qm destroy 121 --purge` on vmhost"},
			},
			err: "k3s-dev is not gone: 2 of its machines, which its state does not know, stay on the host: see above for what to do with each",
		},
		{
			name: "a machine of a lab", lab: true, left: status.Left{Machines: []status.Orphan{off}},
			recorded: recordedEvents{operator.LeftOnHost{What: off.What, Do: "if it is no longer needed: `em-infra lab destroy 121 --stack k3s-dev`"}},
			err:      "k3s-dev is not gone: 1 of its machines, which its state does not know, stay on the host: see above for what to do with each",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := &destroyParts{left: test.left}
			result, err := p.order(test.lab).Run(t.Context())
			require.Equal(t, test.recorded, p.recorded)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, &operator.DestroyResult{ISOs: test.isos}, result)
		})
	}
}

// TestAHostThatDoesNotAnswerAfterADestroy: the engine has finished, but it is unknown what is left.
func TestAHostThatDoesNotAnswerAfterADestroy(t *testing.T) {
	t.Parallel()
	p := &destroyParts{parts: parts{failing: "what is left"}}
	_, err := p.order(false).Run(t.Context())
	require.EqualError(t, err, "the state of k3s-dev is empty now, but the host could not be asked what is left on it (refused in a test): "+
		"see that it answers, then run `em-infra destroy --stack k3s-dev` again")
	require.False(t, errors.As(err, new(*operator.RefusedError)), "it did touch something")
}
