package inventory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
)

// The values that a chart gets are those that Helm itself would read from the same text.
func TestValuesAreData(t *testing.T) {
	t.Parallel()
	values, err := inventory.Values("a: {b: [1, two, 3.5, true]}\nsince: 2024-01-01\n").Map()
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"a": map[string]any{"b": []any{1, "two", 3.5, true}}, "since": "2024-01-01",
	}, values)

	values, err = inventory.Values("").Map()
	require.NoError(t, err)
	require.Empty(t, values)
}
