package control_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/control"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// lab records requests.
type lab struct {
	set      *fault.Set
	unlocked []int
	reset    []int
	setups   []proxmox.SetupChange
}

func (l *lab) Faults() []fault.State { return l.set.List() }

func (l *lab) SetFault(f fault.Fault) error {
	if err := l.set.Set(f); err != nil {
		return fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	return nil
}

func (l *lab) ClearFaults(name string) (int, error) { return l.set.Clear(name) }

func (l *lab) Unlock(_ context.Context, vmid int) error {
	if vmid != 101 {
		return errors.New("the disk is full")
	}
	l.unlocked = append(l.unlocked, vmid)
	return nil
}

func (l *lab) Reset(_ context.Context, vmid int) error {
	l.reset = append(l.reset, vmid)
	return nil
}

func (l *lab) SetUp(host string, change proxmox.SetupChange) error {
	if host != "vmhost" {
		return fmt.Errorf("%w: there is no such host", control.ErrRefused)
	}
	l.setups = append(l.setups, change)
	return nil
}

// serve serves in a folder until the test ends.
func serve(t *testing.T, dir string) *lab {
	t.Helper()
	l := &lab{set: fault.NewSet([32]byte{}, []fault.Kind{{Name: "forbidden"}, {Name: "clone-fails"}})}
	listener, err := control.Listen(dir)
	require.NoError(t, err)
	server := &http.Server{Handler: control.Handler(l)} //nolint:gosec // its only client is this test
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return l
}

func TestRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := serve(t, dir)
	ctx, client := t.Context(), control.NewClient(dir)

	asked := fault.Fault{Name: "forbidden", Node: "vmhost", VMID: 101, Endpoint: "/nodes", Nth: 2, Times: 3, Probability: 0.5}
	require.EqualError(t, client.SetFault(ctx, asked), "fault: forbidden occurs in the work behind a call, not at one: leave the endpoint out")
	asked.Endpoint = ""
	require.NoError(t, client.SetFault(ctx, asked))
	list, err := client.Faults(ctx)
	require.NoError(t, err)
	require.Equal(t, []fault.State{{Fault: asked}}, list)

	err = client.SetFault(ctx, fault.Fault{Name: "forbiden"})
	require.ErrorIs(t, err, control.ErrRefused)
	require.EqualError(t, err, `fault: there is no "forbiden": did you mean forbidden?`)

	count, err := client.ClearFaults(ctx, "forbidden")
	require.NoError(t, err)
	require.Equal(t, 1, count)
	list, err = client.Faults(ctx)
	require.NoError(t, err)
	require.Empty(t, list)

	require.NoError(t, client.Unlock(ctx, 101))
	require.Equal(t, []int{101}, l.unlocked)
	err = client.Unlock(ctx, 102)
	require.EqualError(t, err, "the disk is full")
	require.NotErrorIs(t, err, control.ErrRefused)
	require.NoError(t, client.Reset(ctx, 101))
	require.Equal(t, []int{101}, l.reset)

	change := proxmox.SetupChange{IOMMU: new(false), Drivers: map[string]string{"0000:01:00.0": "nouveau"}}
	require.NoError(t, client.SetUp(ctx, "vmhost", change))
	require.Equal(t, []proxmox.SetupChange{change}, l.setups)
	err = client.SetUp(ctx, "vmhots", change)
	require.ErrorIs(t, err, control.ErrRefused)
	require.EqualError(t, err, "there is no such host")
}

// TestDeepFolders checks a path that is longer than a socket's maximum.
func TestDeepFolders(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 40))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	serve(t, dir)
	_, err := control.NewClient(dir).Faults(t.Context())
	require.NoError(t, err)
}

// TestSocketIsTheOwners checks who can open the socket, and that a dead lab's socket is replaced.
func TestSocketIsTheOwners(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead, err := control.Listen(dir)
	require.NoError(t, err)
	require.NoError(t, dead.Close())
	_, err = control.NewClient(dir).Faults(t.Context())
	require.ErrorContains(t, err, "connection refused", "the file stays")

	serve(t, dir)
	info, err := os.Stat(filepath.Join(dir, "control.sock"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, err = control.NewClient(dir).Faults(t.Context())
	require.NoError(t, err)
}

// TestNonsense checks the error for an invalid request.
func TestNonsense(t *testing.T) {
	t.Parallel()
	handler := control.Handler(&lab{set: fault.NewSet([32]byte{}, nil)})
	for _, test := range []struct {
		verb, path, body, answer string
		status                   int
	}{
		{"POST", "/faults", "{", `{"error":"the lab refuses: that is no fault: unexpected EOF"}`, 422},
		{"POST", "/setups/vmhost", "{", `{"error":"the lab refuses: that is no setup: unexpected EOF"}`, 422},
		{"DELETE", "/locks/x", "", `{"error":"the lab refuses: \"x\" is no VMID"}`, 422},
		{"GET", "/elsewhere", "", "404 page not found", 404},
		{"PUT", "/faults", "", "Method Not Allowed", 405},
	} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(test.verb, test.path, strings.NewReader(test.body)))
		require.Equal(t, test.status, recorder.Code, test.path)
		require.Equal(t, test.answer, strings.TrimSpace(recorder.Body.String()))
	}
}
