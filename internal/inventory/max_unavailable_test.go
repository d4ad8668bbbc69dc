package inventory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
)

func TestHowManyWorkersMayBeAway(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text          string
		workers, want int
	}{
		{"1", 5, 1}, {"2", 5, 2}, {"2", 0, 2}, {"25%", 8, 2}, {"25%", 7, 1}, {"25%", 3, 1}, {"100%", 5, 5}, {"1%", 0, 1},
	} {
		var most inventory.MaxUnavailable
		require.NoError(t, most.UnmarshalText([]byte(test.text)))
		require.Equal(t, test.text, most.String())
		require.Equal(t, test.want, most.Of(test.workers), "%s of %d", test.text, test.workers)
	}
	require.Equal(t, 1, inventory.MaxUnavailable{}.Of(3), "nothing given")
}
