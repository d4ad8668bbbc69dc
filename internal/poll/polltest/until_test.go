package polltest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// failing records that a test failed, and does not end the real test.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.failed = true
	panic("failed")
}

func TestItAsksUntilItIsSo(t *testing.T) {
	t.Parallel()
	asked := 0
	polltest.Until(t, func() bool {
		asked++
		return asked == 3
	})
	require.Equal(t, 3, asked)
}

func TestItGivesUpInTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &failing{TB: t}
		require.Panics(t, func() { polltest.Succeeds(f, func() error { return errors.New("never") }) })
		require.True(t, f.failed)
	})
}

func TestLasted(t *testing.T) {
	t.Parallel()
	for lasts, fails := range map[time.Duration]bool{19 * time.Second: true, 20 * time.Second: false, 21 * time.Second: false, 22 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			time.Sleep(lasts)
			f := &failing{TB: t}
			lasted := func() { polltest.Lasted(f, 20*time.Second, began) }
			if fails {
				require.Panics(t, lasted)
				return
			}
			require.NotPanics(t, lasted)
		})
	}
}
