package nodeops_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// slow is a writer that takes its time.
type slow struct{ bytes.Buffer }

func (s *slow) Write(data []byte) (int, error) {
	time.Sleep(time.Minute)
	return s.Buffer.Write(data)
}

// TestAStreamThatStalls checks that a stream that brings no data for the limit ends with an error, and that a stream that goes on is not cut off,
// regardless of how long it takes and how slow its writer is.
func TestAStreamThatStalls(t *testing.T) {
	t.Parallel()
	const limit = 30 * time.Second
	// every sends a chunk, waits, and goes on; it ends with its context, as a stream of gRPC does.
	every := func(pause time.Duration, chunks int) func(context.Context, io.Writer) error {
		return func(ctx context.Context, to io.Writer) error {
			for range chunks {
				if _, err := to.Write([]byte("x")); err != nil {
					return err
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(pause):
				}
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		transfer func(context.Context, io.Writer) error
		to       io.Writer
		err      string
		took     time.Duration
	}{
		"goes on":       {every(20*time.Second, 9), &bytes.Buffer{}, "", 3 * time.Minute},
		"stalls":        {every(time.Hour, 2), &bytes.Buffer{}, "nothing came for 30s", limit},
		"never begins":  {func(ctx context.Context, _ io.Writer) error { <-ctx.Done(); return ctx.Err() }, &bytes.Buffer{}, "nothing came for 30s", limit},
		"a slow writer": {every(time.Second, 3), &slow{}, "", 3*time.Minute + 3*time.Second},
		"another error": {func(context.Context, io.Writer) error { return errors.New("refused") }, &bytes.Buffer{}, "refused", 0},
		"a full disk":   {every(time.Second, 3), full{}, "no space left on device", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := nodeops.UnlessStalled(t.Context(), limit, test.to, test.transfer)
				require.Equal(t, test.took, time.Since(began))
				if test.err == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, test.err)
				}
			})
		})
	}
}
