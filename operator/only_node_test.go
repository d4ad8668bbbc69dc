package operator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// TestRunsThatSpareTheNAS are not refused if it is away.
func TestRunsThatSpareTheNAS(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options   operator.UpOptions
		restoring *operator.EtcdRestoreOptions
		want      bool
	}{
		{options: operator.UpOptions{}},
		{options: operator.UpOptions{Until: phase.Provision}},
		{options: operator.UpOptions{Only: phase.Provision}},
		{options: operator.UpOptions{Until: phase.Generate}, want: true},
		{options: operator.UpOptions{Only: phase.Generate}, want: true},
		{options: operator.UpOptions{Only: phase.Bootstrap}, want: true},
		{options: operator.UpOptions{Only: phase.Addons}, want: true},
		{options: operator.UpOptions{OnlyNode: "w-1"}, want: true},
		{restoring: &operator.EtcdRestoreOptions{}, want: true},
	} {
		s := operator.In(operator.Options{}, &workspace.Workspace{Stack: "k3s-dev"}, nil, time.Now).Session("", nil)
		got, err := s.Spares(test.options, test.restoring)
		require.NoError(t, err)
		require.Equal(t, test.want, got, "%+v %v", test.options, test.restoring)
	}
}

func TestOnlyANodeIsChangedInAllPhases(t *testing.T) {
	t.Parallel()
	chosen, err := operator.UpOptions{OnlyNode: "w-1"}.Span()
	require.NoError(t, err)
	require.Equal(t, " --only-node w-1", chosen.String())
	require.Equal(t, "up-only-node-w-1", chosen.Command())
	require.True(t, chosen.Verifies())
	for _, options := range []operator.UpOptions{{OnlyNode: "w-1", Until: phase.Provision}, {OnlyNode: "w-1", Only: phase.Addons}} {
		_, err := options.Span()
		require.EqualError(t, err, "--only-node excludes --until and --only: give one of them")
	}
}
