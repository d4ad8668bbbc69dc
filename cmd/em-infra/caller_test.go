package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnOperationEndsWithThePluginThatCalledIt(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, writer.Close()) })
	ctx, cancel := whileRead(t.Context(), writer)
	defer cancel()
	require.Never(t, func() bool { return ctx.Err() != nil }, 3*callerInterval/2, 10*time.Millisecond, "somebody reads it")

	require.NoError(t, reader.Close())
	<-ctx.Done()
	require.ErrorIs(t, context.Cause(ctx), errCallerGone)
}

func TestAnOperationThatWritesIntoAFileGoesOn(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	ctx, cancel := whileRead(t.Context(), file)
	require.NoError(t, ctx.Err())
	cancel()
	require.ErrorIs(t, context.Cause(ctx), context.Canceled)
}
