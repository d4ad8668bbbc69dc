package pace_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/pace"
)

func TestScale(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		scale           float64
		scaled, timeout time.Duration
	}{
		"none":  {0, 0, 2 * time.Second},
		"tenth": {0.1, time.Second, 2 * time.Second},
		"half":  {0.5, 5 * time.Second, 5 * time.Second},
		"full":  {1, 10 * time.Second, 10 * time.Second},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p, err := pace.New(test.scale)
			require.NoError(t, err)
			require.Equal(t, test.scaled, p.Scaled(10*time.Second))
			require.Equal(t, test.timeout, p.Timeout(10*time.Second))
		})
	}
}

// TestShortTimeouts checks that a limit never exceeds that of a real host.
func TestShortTimeouts(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Second, pace.Pace{}.Timeout(time.Second))
}

func TestScalesThatAreNone(t *testing.T) {
	t.Parallel()

	for scale, text := range map[float64]string{-1: "-1", math.Inf(1): "+Inf", math.NaN(): "NaN"} {
		_, err := pace.New(scale)
		require.ErrorIs(t, err, pace.ErrScale)
		require.EqualError(t, err, "time scale must be a number of 0 or more, not "+text+
			": choose 0 for no delay, 1 for the speed of a small server")
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()

	p, err := pace.New(0.01)
	require.NoError(t, err)

	started := time.Now()

	require.NoError(t, p.Sleep(t.Context(), time.Second))
	require.GreaterOrEqual(t, time.Since(started), 10*time.Millisecond)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.Sleep(ended, time.Hour), context.Canceled)
	require.ErrorIs(t, pace.Pace{}.Sleep(ended, time.Hour), context.Canceled, "even where nothing is slept")

	limited, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Sleep(limited, time.Hour), context.DeadlineExceeded)
}
