package refusal_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// TestARefusalAfterChanges keeps its text and its causes, and is found as a refusal no more, wherever it is in the tree.
func TestARefusalAfterChanges(t *testing.T) {
	t.Parallel()
	require.NoError(t, refusal.AfterChanges(nil))
	cause := &os.PathError{Op: "open", Path: "state", Err: os.ErrNotExist}
	refused := fmt.Errorf("first: %w", errors.Join(errors.New("second"), refusal.Of(cause)))
	require.ErrorAs(t, refused, new(*refusal.Error))

	after := refusal.AfterChanges(refused)
	require.EqualError(t, after, refused.Error())
	require.NotErrorAs(t, after, new(*refusal.Error))
	require.NotErrorAs(t, fmt.Errorf("again: %w", after), new(*refusal.Error))
	require.ErrorIs(t, after, os.ErrNotExist)
	found := new(os.PathError)
	require.ErrorAs(t, after, &found)
	require.Same(t, cause, found)
}
