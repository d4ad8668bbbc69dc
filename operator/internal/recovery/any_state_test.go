package recovery_test

import (
	"fmt"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// situation is a possible state at the beginning of a run: the entry of a machine in the state, the entries beside it, the earlier
// states, and the machine on the host.
type situation struct {
	name       string
	deployment func() *apitype.DeploymentV3
	past       []recovery.Past
	found      *pve.Machine
	// used reports whether there is a witness that the machine was used, and foreign whether it is not ours.
	used, foreign bool
}

// axis is a property in which situations differ.
type axis[T any] struct {
	name string
	is   T
	// used reports whether it proves that the machine was used, and foreign whether it is another machine.
	used, foreign bool
}

// in are the entries of the machine in the state.
var in = []axis[func(beside ...apitype.ResourceV3) *apitype.DeploymentV3]{
	{"begun", begun, false, false},
	{"failed", func(beside ...apitype.ResourceV3) *apitype.DeploymentV3 { return state(append(beside, failed())...) }, false, false},
	{"failed to be changed", func(beside ...apitype.ResourceV3) *apitype.DeploymentV3 {
		return state(append(beside, changedLater(failed()))...)
	}, true, false},
}

// besides are the entries beside it.
var besides = []axis[[]apitype.ResourceV3]{
	{"nothing", nil, false, false},
	{"its configuration", []apitype.ResourceV3{configuration()}, true, false},
	{"its membership", []apitype.ResourceV3{membership()}, true, false},
}

// pasts are the earlier states.
var pasts = []axis[[]recovery.Past]{
	{"nothing", nil, false, false},
	{"another node", []recovery.Past{kept("a", membership())}, false, false},
	{"it, failed", []recovery.Past{kept("a", failed())}, false, false},
	{"it, whole", []recovery.Past{kept("b", failed()), kept("a", machine())}, true, false},
}

// onHost are the machines on the host. The host reports of each running machine that it ran.
var onHost = []axis[*pve.Machine]{
	{"nothing", nil, false, false},
	{"it, off", ours(), false, false},
	{"an empty one", &pve.Machine{Empty: true}, false, false},
	{"it, which ran", &pve.Machine{Name: ours().Name, Ran: "it was started"}, true, false},
	{"it, which runs", &pve.Machine{Name: ours().Name, Running: true, Ran: "it runs"}, true, false},
	{"another", &pve.Machine{Name: "nas"}, false, true},
	{"another, which runs", &pve.Machine{Name: "nas", Running: true, Ran: "it runs"}, true, true},
}

// situations returns all combinations.
func situations() []situation {
	var all []situation
	for i := range len(in) * len(besides) * len(pasts) * len(onHost) {
		in, rest := in[i%len(in)], i/len(in)
		beside, rest := besides[rest%len(besides)], rest/len(besides)
		past, found := pasts[rest%len(pasts)], onHost[rest/len(pasts)]
		all = append(all, situation{
			name:       fmt.Sprintf("in the state: %s, beside it: %s; in the past: %s; on the host: %s", in.name, beside.name, past.name, found.name),
			deployment: func() *apitype.DeploymentV3 { return in.is(beside.is...) },
			past:       past.is, found: found.is, foreign: found.foreign,
			// An empty machine contains nothing, regardless of what was there before.
			used: found.used || found.is != nil && !found.is.Empty && (in.used || beside.used || past.used),
		})
	}
	return all
}

// look makes both kinds of survey.
func (s situation) look(t *testing.T, deployment *apitype.DeploymentV3, h *host) ([]recovery.Survey, error) {
	t.Helper()
	unfinished, err := recovery.LookAtUnfinished(t.Context(), deployment, with(h, s.past...))
	if err != nil {
		return nil, err
	}
	failed, err := recovery.LookAtFailed(t.Context(), deployment, with(h, s.past...))
	return []recovery.Survey{unfinished, failed}, err
}

// TestInNoSituationIsAUsedMachineGivenUp checks in every situation that a survey changes nothing, that a used or foreign machine is
// never deleted, that a machine is deleted once, and that a note needs no second one.
func TestInNoSituationIsAUsedMachineGivenUp(t *testing.T) {
	t.Parallel()
	all := situations()
	require.Greater(t, len(all), 200)
	deleted := 0
	for _, s := range all {
		h, deployment := &host{machine: s.found}, s.deployment()
		surveys, err := s.look(t, deployment, h)
		require.Equal(t, s.deployment(), deployment, s.name)
		require.Empty(t, append(h.deleted, h.started...), s.name)
		if err != nil {
			require.True(t, s.used || s.foreign, "%s: %v", s.name, err)
			continue
		}
		for _, survey := range surveys {
			for _, remnant := range survey.NeverRan {
				require.False(t, s.used || s.foreign, "%s: %s", s.name, remnant.Promise())
				deleted++
			}
			survey.Note(deployment, born)
		}
		require.Empty(t, deployment.PendingOperations, s.name)
		s.endsAfterOneMore(t, deployment, h)
	}
	require.NotZero(t, deleted, "what never ran is given up")
}

// endsAfterOneMore runs the next step of the same run, after which nothing is left to clean up.
func (s situation) endsAfterOneMore(t *testing.T, deployment *apitype.DeploymentV3, h *host) {
	t.Helper()
	survey, err := recovery.LookAtFailed(t.Context(), deployment, with(h, s.past...))
	if err != nil {
		require.True(t, s.used || s.foreign, "%s: %v", s.name, err)
		return
	}
	for _, remnant := range survey.NeverRan {
		require.False(t, s.used || s.foreign, "%s: %s", s.name, remnant.Promise())
		_, err := recovery.Delete(t.Context(), deployment, remnant, h)
		require.NoError(t, err, s.name)
		h.machine = nil
	}
	survey.Note(deployment, born)
	again, err := recovery.LookAtFailed(t.Context(), deployment, with(h, s.past...))
	require.NoError(t, err, s.name)
	require.Empty(t, again.NeverRan, s.name)
	require.LessOrEqual(t, len(h.deleted), 1, s.name)
}
