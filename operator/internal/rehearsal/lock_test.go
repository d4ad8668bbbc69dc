package rehearsal_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/rehearsal"
)

// Two rehearsals of a stack would share one host. The second one is refused as long as the first one runs.
func TestOneRehearsalOfAStackAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lab", "k3s-dev-rehearsal.lock")
	first, err := rehearsal.Lock(path)
	require.NoError(t, err)
	_, err = rehearsal.Lock(path)
	require.EqualError(t, err, "another rehearsal of this stack is under way: wait for it to end, then run again")
	require.NoError(t, first.Close())
	again, err := rehearsal.Lock(path)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
