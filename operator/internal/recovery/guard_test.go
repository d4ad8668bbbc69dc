package recovery_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// TestAGuardEndsThePluginsOfAToolAndItsEngine: both were killed, and no other run follows.
func TestAGuardEndsThePluginsOfAToolAndItsEngine(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	plugin := pluginIn(t, home)
	engine, pid := engineWith(t, plugin)
	seen, tool := io.Pipe()
	guarded := make(chan error, 1)
	go func() { guarded <- recovery.Guard(home, seen) }()
	require.NoError(t, engine.Process.Kill())
	require.Error(t, engine.Wait(), "it was killed")
	require.Never(t, func() bool { return !runs(pid, plugin) }, time.Second, 50*time.Millisecond, "the tool sees to it itself")

	require.NoError(t, tool.Close())
	require.NoError(t, <-guarded)
	require.False(t, runs(pid, plugin))
}

// TestAGuardWaitsForAnEngineThatWorks, because it may be saving its state.
func TestAGuardWaitsForAnEngineThatWorks(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	plugin := pluginIn(t, home)
	engine, pid := engineWith(t, plugin)
	guarded := make(chan error, 1)
	go func() { guarded <- recovery.Guard(home, strings.NewReader("")) }()
	require.Never(t, func() bool { return !runs(pid, plugin) }, time.Second, 50*time.Millisecond)
	require.NoError(t, engine.Process.Kill())
	require.Error(t, engine.Wait(), "it was killed")
	require.NoError(t, <-guarded)
	require.False(t, runs(pid, plugin))
}

func TestAGuardWithoutPlugins(t *testing.T) {
	t.Parallel()
	require.NoError(t, recovery.Guard(t.TempDir(), strings.NewReader("")))
}
