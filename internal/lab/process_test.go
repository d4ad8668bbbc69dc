package lab_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

func TestALabStartsStopsAndComesBackAsItWas(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	require.Zero(t, running(t, dir))
	stopped, err := lab.Stop(t.Context(), dir)
	require.NoError(t, err)
	require.False(t, stopped, "none ran")

	start(t, dir)
	first, err := lab.ReadDescription(dir)
	require.NoError(t, err)
	pid := running(t, dir)
	found, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, found.Signal(syscall.Signal(0)), "it is a process")
	require.NotEqual(t, os.Getpid(), pid)
	for _, address := range []string{first.Proxmox.String(), first.Factory.String()} {
		connection, err := net.Dial("tcp", address)
		require.NoError(t, err, "it listens when Start returns")
		require.NoError(t, connection.Close())
	}

	stopped, err = lab.Stop(t.Context(), dir)
	require.NoError(t, err)
	require.True(t, stopped)
	require.Zero(t, running(t, dir))
	start(t, dir)
	again, err := lab.ReadDescription(dir)
	require.NoError(t, err)
	require.Equal(t, first, again, "the state of the stack remembers it")
	require.NotEqual(t, pid, running(t, dir))
}

func TestASecondLabInTheFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	start(t, dir)
	pid := running(t, dir)
	err := lab.Start(t.Context(), dir, process(t, "serve", dir))
	require.EqualError(t, err, "a lab runs in this folder already: see it with `em-infra lab status`")
	require.Equal(t, pid, running(t, dir), "the first goes on")
}

// A query whether a lab runs must not prevent a start.
func TestAskingDoesNotHinderAStart(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	asking, answered := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-asking:
				answered <- nil
				return
			default:
				if _, err := lab.Running(dir); err != nil {
					answered <- err
					return
				}
			}
		}
	}()
	for range 3 {
		start(t, dir)
		_, err := lab.Stop(t.Context(), dir)
		require.NoError(t, err)
	}
	close(asking)
	require.NoError(t, <-answered)
}

func TestStartSaysWhyThereIsNoLab(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	err := lab.Start(t.Context(), dir, process(t, "mute", dir))
	require.EqualError(t, err, "the lab ended before it was ready: its log says why")
	require.FileExists(t, lab.LogFile(dir))
}

func TestStartIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("interrupt signal received")) })
	slow := process(t, "slow", dir)
	require.EqualError(t, lab.Start(ctx, dir, slow), "interrupt signal received")
	require.Equal(t, "signal: killed", slow.ProcessState.String(), "nothing is left behind")
}

func TestPortsThatAreTaken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, what string
		take       func(lab.Description) string
	}{
		{"API", "the Proxmox VE API", func(d lab.Description) string { return d.Proxmox.String() }},
		{"factory", "the Image Factory", func(d lab.Description) string { return d.Factory.String() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, d := labDir(t), described(t)
			require.NoError(t, d.Write(dir))
			address := test.take(d)
			taken, err := net.Listen("tcp", address)
			require.NoError(t, err)
			_, port, err := net.SplitHostPort(address)
			require.NoError(t, err)

			err = lab.Start(t.Context(), dir, process(t, "serve", dir))
			require.EqualError(t, err, fmt.Sprintf("%s of the lab listens on %s, which another process has taken: find it with "+
				"`ss -ltnp 'sport = :%s'`, end it, and start the lab again; or delete %s to begin anew", test.what, address, port, dir))
			require.Zero(t, running(t, dir))

			require.NoError(t, taken.Close())
			start(t, dir)
		})
	}
}

func TestALabWhoseFolderIsGoneEnds(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	start(t, dir)
	pid := running(t, dir)
	require.NoError(t, os.RemoveAll(filepath.Dir(dir)))
	requireGone(t, pid)
	require.NoDirExists(t, filepath.Dir(dir), "nothing is left behind")
}

func TestALabWhoseFolderIsMadeAnewEnds(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	start(t, dir)
	pid := running(t, dir)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	start(t, dir)
	require.NotEqual(t, pid, running(t, dir))
	requireGone(t, pid)
	require.NotZero(t, running(t, dir), "the new one goes on")
}

// A lab of a test ends with the process that holds its lifeline in every case, because the kernel releases the lock.
func TestALabEndsWithItsLifeline(t *testing.T) {
	t.Parallel()
	dir, lifeline := labDir(t), filepath.Join(t.TempDir(), "lifeline")
	held, err := lab.Lock(lifeline)
	require.NoError(t, err)
	require.NoError(t, described(t).Write(dir))
	serve := process(t, "serve", dir)
	serve.Env = append(serve.Env, lab.LifelineVariable+"="+lifeline)
	require.NoError(t, lab.Start(t.Context(), dir, serve))
	pid := running(t, dir)

	require.Never(t, func() bool { return running(t, dir) == 0 }, 3*lab.LookInterval, lab.LookInterval, "it runs as long as somebody holds it")
	require.NoError(t, held.Close())
	requireGone(t, pid)
	log, err := os.ReadFile(lab.LogFile(dir))
	require.NoError(t, err)
	require.Equal(t, "nobody holds the lab's lifeline any more, so the lab ends\n", string(log))
}

// requireGone waits for the end of a process, which may remain as a zombie of this one.
func requireGone(t *testing.T, pid int) {
	t.Helper()
	polltest.Until(t, func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err != nil || len(text) == 0
	}, "the lab ends by itself within seconds")
}

// Two projects on one machine may have chosen the same network while neither lab was running.
func TestANetworkThatAnotherProjectsLabHas(t *testing.T) {
	t.Parallel()
	dir, other := labDir(t), labDir(t)
	d := described(t)
	require.NoError(t, d.Write(dir))
	taken := described(t)
	taken.Network = d.Network
	require.NoError(t, taken.Write(other))
	start(t, other)
	require.EqualError(t, lab.Start(t.Context(), dir, process(t, "serve", dir)), fmt.Sprintf(
		"the node network %s of the lab is in use by a lab of another project on this machine: stop that one, or delete %s to begin anew", d.Network, dir))
}
