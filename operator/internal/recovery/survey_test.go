package recovery_test

import (
	"errors"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

func TestAMachineThatIsNotThereIsForgotten(t *testing.T) {
	t.Parallel()
	deployment := state(failed(), configuration())
	survey, err := recovery.LookAtFailed(t.Context(), deployment, with(&host{}))
	require.NoError(t, err)
	notes, changed := survey.Note(deployment, born)
	require.True(t, changed)
	require.Equal(t, []string{"creation of VM 102 (k3s-dev-worker-1) ended before it existed"}, notes)
	stays := configuration()
	stays.Dependencies, stays.DeletedWith, stays.ReplaceWith = []resource.URN{}, "", []resource.URN{}
	stays.PropertyDependencies = map[resource.PropertyKey][]resource.URN{"node": {}}
	require.Equal(t, []apitype.ResourceV3{stays}, deployment.Resources)
}

func TestWhatIsWholeOrGoingIsNotLookedAt(t *testing.T) {
	t.Parallel()
	going, replaced := failed(), failed()
	going.Delete, replaced.PendingReplacement = true, true
	for _, one := range []apitype.ResourceV3{machine(), going, replaced, configuration()} {
		h := &host{machine: ours()}
		deployment := state(one)
		survey, err := recovery.LookAtFailed(t.Context(), deployment, with(h))
		require.NoError(t, err)
		require.Empty(t, h.settled)
		_, changed := survey.Note(deployment, born)
		require.False(t, changed)
		require.Equal(t, state(one), deployment)
	}
}

func TestOtherOperationsAreDoneAgain(t *testing.T) {
	t.Parallel()
	deployment := begun(machine())
	deployment.PendingOperations[0].Type = apitype.OperationTypeUpdating
	h := &host{machine: ours()}
	survey, err := recovery.LookAtUnfinished(t.Context(), deployment, with(h))
	require.NoError(t, err)
	notes, changed := survey.Note(deployment, born)
	require.Equal(t, []string{"updating of k3s-dev-worker-1-vm was interrupted: it is done again"}, notes)
	require.True(t, changed)
	require.Empty(t, h.settled)
	require.Equal(t, state(machine()).Resources, deployment.Resources)
}

func TestWhatALaterRunHasMadeIsNotPending(t *testing.T) {
	t.Parallel()
	deployment := begun(machine())
	survey, err := recovery.LookAtUnfinished(t.Context(), deployment, with(&host{machine: ours()}))
	require.NoError(t, err)
	require.Empty(t, survey.NeverRan)
	notes, changed := survey.Note(deployment, born)
	require.Empty(t, notes)
	require.True(t, changed, "the operation is not pending any more")
	require.Equal(t, []apitype.ResourceV3{machine()}, deployment.Resources)
}

// A replacement takes the place of the machine that the engine has deleted, because later resources refer to it.
func TestWhatWasCutOffIsNotedWhereItsFormerMachineWas(t *testing.T) {
	t.Parallel()
	replaced := machine()
	replaced.PendingReplacement = true
	deployment := begun(replaced, configuration())
	deployment.Resources[1].PendingReplacement = true
	survey, err := recovery.LookAtUnfinished(t.Context(), deployment, with(&host{machine: ours()}))
	require.NoError(t, err)
	survey.Note(deployment, born)
	noted := machine()
	noted.Outputs, noted.InitErrors = noted.Inputs, []string{"its creation was cut off"}
	require.Equal(t, noted, deployment.Resources[0])
	require.Len(t, deployment.Resources, 2)
}

func TestLookingWhereItCannot(t *testing.T) {
	t.Parallel()
	nowhere := begun()
	nowhere.PendingOperations[0].Resource.Inputs = map[string]any{"name": "k3s-dev-worker-1"}
	_, err := recovery.LookAtUnfinished(t.Context(), nowhere, with(&host{}))
	require.EqualError(t, err, "unfinished creation of k3s-dev-worker-1-vm: the state does not say which VM on which host: restore the state from a backup")

	silent := &host{err: errors.New("VM 102 on vmhost: no route to host")}
	_, err = recovery.LookAtFailed(t.Context(), state(failed()), with(silent))
	require.EqualError(t, err, "VM 102 on vmhost: no route to host")

	strangers := &host{machine: &pve.Machine{Name: "nas"}}
	_, err = recovery.LookAtUnfinished(t.Context(), begun(configuration()), with(strangers))
	require.EqualError(t, err, `VM 102 on vmhost is "nas", not our "k3s-dev-worker-1", and k3s-dev-worker-1-configuration in the state was applied to it: rename it back if it is ours; `+
		"if it is not, put a state from before ours back with `em-infra state restore`, and give our node another vmid in nodes.yaml")
	begunOnly := state(failed())
	survey, err := recovery.LookAtFailed(t.Context(), begunOnly, with(strangers))
	require.NoError(t, err)
	notes, _ := survey.Note(begunOnly, born)
	require.Equal(t, []string{"the creation of VM 102 (k3s-dev-worker-1) was cut off; VM 102 on vmhost is nas now, which is not ours and stays as it is"}, notes)
	require.Empty(t, begunOnly.Resources, "a refusal would come again whatever vmid the inventory gives it now")
	require.Empty(t, strangers.deleted)

	blind := recovery.Evidence{Host: &host{machine: ours()}, Past: func() ([]recovery.Past, error) { return nil, errors.New("a.json cannot be read") }}
	_, err = recovery.LookAtFailed(t.Context(), state(failed()), blind)
	require.EqualError(t, err, "a.json cannot be read", "nothing is concluded from what was not read")
}

// A clone for another host is on the template's host during its creation, and on its own afterwards; it may have been migrated since.
func TestAMachineIsFoundWhereverItStands(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, stands string
		settled      []string
	}{
		{"being made", "vmhost", []string{"vmhost"}},
		{"done", "vmhost2", []string{"vmhost", "vmhost2"}},
		{"moved by hand", "vmhost3", []string{"vmhost", "vmhost2", "vmhost3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			half := failed()
			half.Inputs["nodeName"], half.Inputs["clone"] = "vmhost2", map[string]any{"nodeName": "vmhost", "vmId": 9000.0}
			at := ours()
			at.Node = test.stands
			h := &host{machine: at}
			survey, err := recovery.LookAtFailed(t.Context(), state(half), with(h))
			require.NoError(t, err)
			require.Equal(t, test.settled, h.settled)
			require.Equal(t, test.stands, survey.NeverRan[0].Node)
		})
	}
}

// A preview does not wait, and ignores a machine with a lock.
func TestAtAGlance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		machine *pve.Machine
		seen    int
	}{
		{&pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1"}, 1},
		{&pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1", Lock: "clone"}, 0},
	} {
		h := &host{machine: test.machine}
		survey, err := recovery.LookAtFailed(t.Context(), state(failed()), recovery.Evidence{Host: recovery.AtAGlance(h), Past: with(h).Past})
		require.NoError(t, err)
		require.Empty(t, h.settled)
		require.Len(t, survey.NeverRan, test.seen)
	}
}
