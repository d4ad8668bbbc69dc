package operator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
)

func TestAResourceBelongsToTheNodeWithTheLongestName(t *testing.T) {
	t.Parallel()
	nodes := []string{"home-w", "home-w-1", "home-w-10"}
	for name, want := range map[string]string{
		"home-w-1":            "home-w-1",
		"home-w-1-vm":         "home-w-1",
		"home-w-10-vm":        "home-w-10",
		"home-w-membership":   "home-w",
		"home-secrets":        "",
		"home-template-image": "",
	} {
		require.Equal(t, want, ownerOf(name, nodes), name)
	}
}

func TestOnlyANodeIsChangedInAllPhases(t *testing.T) {
	t.Parallel()
	chosen, err := UpOptions{OnlyNode: "w-1"}.span()
	require.NoError(t, err)
	require.Equal(t, " --only-node w-1", chosen.String())
	require.Equal(t, "up-only-node-w-1", chosen.command())
	require.True(t, chosen.verifies())
	for _, options := range []UpOptions{{OnlyNode: "w-1", Until: phase.Provision}, {OnlyNode: "w-1", Only: phase.Addons}} {
		_, err := options.span()
		require.EqualError(t, err, "--only-node excludes --until and --only: give one of them")
	}
}
