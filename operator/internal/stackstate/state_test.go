package stackstate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/refusal"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
)

func stateWith(t *testing.T) *stackstate.State {
	t.Helper()
	return &stackstate.State{
		State: engine.State{Stack: "k3s-dev"}, Backups: backup.Store{Dir: t.TempDir()},
		Place: remedy.Place{Name: "k3s-dev", Stack: "--stack k3s-dev --lab"}, Now: time.Now,
	}
}

// TestAStateThatCannotBeReadIsRefused with what to do, and keeps the reason.
func TestAStateThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	s := stateWith(t)
	none := s.Unreadable(engine.ErrNoStack)
	require.EqualError(t, none, "there is no state of stack k3s-dev: `em-infra up` makes one; if there was one, put a backup back with `em-infra state restore --stack k3s-dev --lab`")
	require.ErrorAs(t, none, new(*refusal.Error))

	newer := fmt.Errorf("export: %w", &engine.FormatError{Stack: "k3s-dev", What: "has format 5, newer than 4"})
	require.EqualError(t, s.Unreadable(newer), "the state of k3s-dev has format 5, newer than 4: use an em-infra as new as the Pulumi CLI that wrote it", "it is sound, and a backup would be older")
	require.ErrorAs(t, s.Unreadable(newer), new(*refusal.Error))

	damaged := errors.New("unexpected end of JSON input")
	err := s.Unreadable(damaged)
	require.EqualError(t, err, "the state of stack k3s-dev cannot be read (unexpected end of JSON input): put a backup back with `em-infra state restore --stack k3s-dev --lab`")
	require.ErrorIs(t, err, damaged)
	require.ErrorAs(t, err, new(*refusal.Error))

	away := refusal.Of(errors.New("the bucket s3://states does not answer"))
	s.Reach = func() error { return away }
	require.Equal(t, away, s.Unreadable(damaged), "a backup would replace a state that is whole")
	s.Reach = func() error { return nil }
	require.ErrorIs(t, s.Unreadable(damaged), damaged)
}

// TestPastStatesAreNewestFirst: a damaged backup is an error that names it, because it may be a witness that a machine was in use.
func TestPastStatesAreNewestFirst(t *testing.T) {
	t.Parallel()
	s := stateWith(t)
	past, err := s.Past()
	require.NoError(t, err)
	require.Empty(t, past)

	for hour, name := range []string{"older", "newer"} {
		deployment, err := json.Marshal(apitype.DeploymentV3{Resources: []apitype.ResourceV3{{URN: "urn:pulumi:k3s-dev::em-infra::a:b:C::x", Type: "a:b:C"}}})
		require.NoError(t, err)
		text, err := json.Marshal(apitype.UntypedDeployment{Version: 3, Deployment: deployment})
		require.NoError(t, err)
		_, err = s.Backups.Save(time.Date(2026, 11, 21, 9+hour, 0, 0, 0, time.UTC), name, append(text, []byte{'\n', ' '}[hour]))
		require.NoError(t, err)
	}
	past, err = s.Past()
	require.NoError(t, err)
	require.Len(t, past, 2)
	require.Equal(t, "2026-11-21T10-00-00-newer", past[0].Name)
	require.Equal(t, "2026-11-21T09-00-00-older", past[1].Name)
	require.Len(t, past[0].Deployment.Resources, 1)

	_, err = s.Backups.Save(time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC), "damaged", []byte("{"))
	require.NoError(t, err)
	_, err = s.Past()
	require.ErrorContains(t, err, "2026-11-21T11-00-00-damaged.json cannot be read (")
	require.ErrorContains(t, err, "): it may say that a machine was in use, so move it away only if you know better")
}
