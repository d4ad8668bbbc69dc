package kubernetes_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/loopbacktest"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// parentVariable makes the test binary run a process; it is then killed.
const parentVariable = "EM_INFRA_TEST_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentVariable); dir != "" {
		fmt.Println(kubernetes.Run(context.Background(), dir, "child", "/bin/sh", "-c", "echo $$ > pid; exec sleep 60"))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestProcessEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, kubernetes.Run(ctx, t.TempDir(), "child", "/bin/sleep", "60"), context.DeadlineExceeded)
}

func TestProcessThatEndsByItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "child.log")
	err := kubernetes.Run(t.Context(), dir, "child", "/bin/sh", "-c", "echo why; exit 3")
	require.EqualError(t, err, "child: exit status 3 (log: "+log+")")
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "why\n", string(text))
	require.EqualError(t, kubernetes.Run(t.Context(), dir, "child", "/bin/true"), "child: it ended by itself (log: "+log+")")
}

// A controller manager ends when it has lost its Lease, and etcd and the API server go on.
func TestProcessIsStartedAgain(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancelCause(t.Context())
	errEnough := errors.New("enough")
	ends := 0
	err := kubernetes.Keep(ctx, t.TempDir(), "child", func(err error) {
		require.ErrorContains(t, err, "child: exit status 3 (log: ")
		if ends++; ends == 3 {
			end(errEnough)
		}
	}, "/bin/sh", "-c", "exit 3")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, ends)
}

func TestProcessEndsWhenItsParentIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"="+dir)
	require.NoError(t, parent.Start())
	child := 0
	polltest.Until(t, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err != nil {
			return false
		}
		child, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	require.True(t, runs(child))
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	polltest.Until(t, func() bool { return !runs(child) })
}

// runs returns false for a process that is gone or a zombie.
func runs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// echo returns the address of an echo server.
func echo(t *testing.T) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(connection, connection) }()
		}
	}()
	return listener.Addr().(*net.TCPAddr).AddrPort()
}

func TestFront(t *testing.T) {
	t.Parallel()
	network := loopbacktest.Network(t)
	one, two := netip.AddrPortFrom(number(network, 1), 6443), netip.AddrPortFrom(number(network, 2), 6443)
	front, target := kubernetes.NewFront(), echo(t)
	t.Cleanup(front.Close)
	require.NoError(t, front.Serve(target, one, two))

	client, err := net.Dial("tcp", two.String())
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	answers := bufio.NewReader(client)
	say := func(word string) (string, error) {
		if _, err := fmt.Fprintln(client, word); err != nil {
			return "", err
		}
		return answers.ReadString('\n')
	}
	got, err := say("hello")
	require.NoError(t, err)
	require.Equal(t, "hello\n", got)

	require.NoError(t, front.Serve(target, two), "what stays is not disturbed")
	got, err = say("again")
	require.NoError(t, err)
	require.Equal(t, "again\n", got)
	_, err = net.Dial("tcp", one.String())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)

	require.NoError(t, front.Serve(target, one))
	_, err = say("gone")
	require.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE), "%v", err)

	taken := kubernetes.NewFront()
	t.Cleanup(taken.Close)
	require.ErrorContains(t, taken.Serve(target, one, two), "listen for the Kubernetes API: listen tcp "+one.String())
	other, err := net.Dial("tcp", two.String())
	require.NoError(t, err, "an address that is taken does not keep the others closed")
	require.NoError(t, other.Close())
}
