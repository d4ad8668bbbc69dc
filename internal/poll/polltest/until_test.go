package polltest_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// failing keeps what a test says when it fails, and ends nothing.
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
