package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator"
)

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
