package inventory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
)

func version(t *testing.T, text string) inventory.Version {
	t.Helper()
	var v inventory.Version
	require.NoError(t, v.UnmarshalText([]byte(text)))
	return v
}

func TestVersionText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"v1.12.4", "v1.13.0-alpha.1", "v1.12.4+build.7"} {
		v := version(t, text)
		require.Equal(t, text, v.String())
		written, err := v.MarshalText()
		require.NoError(t, err)
		require.Equal(t, text, string(written))
		require.False(t, v.IsZero())
	}
	require.True(t, inventory.Version{}.IsZero())
}

func TestVersionsAreOrdered(t *testing.T) {
	t.Parallel()
	ordered := []string{"v1.9.6", "v1.10.0-beta.1", "v1.10.0", "v1.12.4", "v2.0.0"}
	for i, earlier := range ordered {
		require.Zero(t, version(t, earlier).Compare(version(t, earlier)))
		for _, later := range ordered[i+1:] {
			require.Negative(t, version(t, earlier).Compare(version(t, later)), "%s, %s", earlier, later)
			require.Positive(t, version(t, later).Compare(version(t, earlier)), "%s, %s", later, earlier)
		}
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	contract := version(t, "v1.12.4").Contract()
	require.Equal(t, inventory.Contract{Major: 1, Minor: 12}, contract)
	require.Equal(t, "v1.12", contract.String())
	require.Negative(t, contract.Compare(inventory.Contract{Major: 1, Minor: 13}))
	require.Positive(t, contract.Compare(inventory.Contract{Minor: 14}))
	require.Zero(t, contract.Compare(contract)) //nolint:gocritic // the comparison with itself is intended
	require.True(t, inventory.Contract{}.IsZero())
}
