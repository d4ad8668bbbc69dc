package poll_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/poll"
)

// A wait of any length ends at most a twentieth of that length later than it could.
func TestUntilAsksAtOnceAndThenLessAndLessOften(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		begun, asked := time.Now(), []time.Duration{}
		err := poll.Until(t.Context(), time.Second, func(context.Context) (bool, error) {
			asked = append(asked, time.Since(begun))
			return time.Since(begun) > time.Minute, nil
		})
		require.NoError(t, err)
		require.Equal(t, []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}, asked[:3])
		for i, now := range asked[3:] {
			before := asked[i+2]
			require.Equal(t, min(max(before/20, 100*time.Millisecond), time.Second), now-before)
		}
		require.Equal(t, time.Second, asked[len(asked)-1]-asked[len(asked)-2])
	})
}

func TestUntilEndsWithTheErrorOfWhoWasAsked(t *testing.T) {
	t.Parallel()

	failed := errors.New("it cannot be")
	require.Same(t, failed, poll.Until(t.Context(), time.Second, func(context.Context) (bool, error) { return false, failed }))
}

// If ask returns an error that wraps one of a context, Until does not take it for the end of its own context.
func TestUntilTellsTheEndOfItsContextFromOthers(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		why := errors.New("somebody has pressed Ctrl-C")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() { cancel(why) })
		asked := 0
		err := poll.Until(ctx, 10*time.Second, func(context.Context) (bool, error) {
			asked++
			return false, nil
		})
		require.Same(t, why, err)
		require.Equal(t, 2, asked)

		err = poll.Until(ctx, time.Second, func(context.Context) (bool, error) {
			asked++
			return true, nil
		})
		require.NoError(t, err, "it asks once at least")
		require.Equal(t, 3, asked)
		require.ErrorIs(t, poll.Until(t.Context(), time.Second, func(context.Context) (bool, error) {
			return false, context.DeadlineExceeded
		}), context.DeadlineExceeded)
	})
}
