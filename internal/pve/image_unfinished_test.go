package pve_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/internal/pve"
)

// slowImport keeps the tasks that make a machine waiting before they have its disk.
type slowImport struct {
	end  chan struct{}
	once sync.Once
}

func (s *slowImport) finish() { s.once.Do(func() { close(s.end) }) }

func (*slowImport) Call(context.Context, proxmox.Call) error { return nil }
func (*slowImport) Lost(proxmox.Call) bool                   { return false }
func (*slowImport) Lag(proxmox.TaskInfo, proxmox.Effect) time.Duration {
	return 0
}

func (s *slowImport) Step(ctx context.Context, task proxmox.TaskInfo, _ proxmox.Step) error {
	if task.Type != "qmcreate" || task.VMID != debian.VMID {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.end:
		return nil
	}
}

// interrupted returns a host on which a run has begun to create the template and was then interrupted.
func interrupted(t *testing.T) (*emulated, *slowImport) {
	t.Helper()
	slow := &slowImport{end: make(chan struct{})}
	t.Cleanup(slow.finish)
	e := newHost(t, func(c *proxmox.Config) {
		withImages(c)
		c.Faults = slow
	})
	ctx, kill := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := e.connection.EnsureImageTemplate(ctx, debian)
		ended <- err
	}()
	e.waitForLockOf("/qemu/9100", "create")
	kill()
	require.ErrorContains(t, <-ended, "the template debian-13 (VM 9100) cannot be made on vmhost (its task UPID:vmhost:")
	return e, slow
}

// TestAnImportThatStillRuns checks that the next run waits for such an import, and removes the file that the killed run would have removed.
func TestAnImportThatStillRuns(t *testing.T) {
	t.Parallel()
	e, slow := interrupted(t)
	host := e.host(patience)
	host.Tell = func(string) { slow.finish() }
	made, err := pve.EnsureImageTemplateOn(t.Context(), e.connection, host, debian)
	require.NoError(t, err)
	require.False(t, made, "the task of the first run has made it")
	require.Contains(t, e.server.Volumes(), node+"/tank:base-9100-disk-0")
	require.NotContains(t, e.server.Volumes(), node+"/"+debian.Image.Volume)
}

// TestAHostThatWentDownDuringAnImport covers a host that keeps an empty locked machine. A person has to remove the lock; then the next run deletes
// the machine.
func TestAHostThatWentDownDuringAnImport(t *testing.T) {
	t.Parallel()
	e, slow := interrupted(t)
	require.NoError(t, e.server.PowerCut())
	slow.finish()
	e.waitForLockOf("/qemu/9100", "create") // it answers again
	host := e.host(50 * time.Millisecond)
	_, err := pve.EnsureImageTemplateOn(t.Context(), e.connection, host, debian)
	require.EqualError(t, err, "VM 9100 on vmhost is locked (create) and no task works on it: run `qm unlock 9100` on vmhost, then run up again")

	require.NoError(t, e.server.Unlock(t.Context(), debian.VMID))
	made, err := pve.EnsureImageTemplateOn(t.Context(), e.connection, host, debian)
	require.NoError(t, err)
	require.True(t, made)
	require.Contains(t, e.server.Volumes(), node+"/tank:base-9100-disk-0")
	require.NotContains(t, e.server.Volumes(), node+"/"+debian.Image.Volume)
}

// TestAnEmptyMachineOfAnother checks that an empty machine of another user is left alone, since nothing proves that it is ours.
func TestAnEmptyMachineOfAnother(t *testing.T) {
	t.Parallel()
	slow := &slowImport{end: make(chan struct{})}
	e := newHost(t, func(c *proxmox.Config) {
		withImages(c)
		c.Faults = slow
		another := c.Tokens[0]
		another.ID = "another@pve!test"
		c.Tokens = append(c.Tokens, another)
	})
	ours := e.connection
	_, secret, _ := strings.Cut(ours.Token, "=")
	e.connection.Token = "another@pve!test=" + secret
	e.begin(http.MethodPost, "/qemu", url.Values{"vmid": {"9100"}, "scsi0": {"tank:1"}})
	e.waitForLockOf("/qemu/9100", "create")
	require.NoError(t, e.server.PowerCut())
	slow.finish()
	e.waitForLockOf("/qemu/9100", "create")
	require.NoError(t, e.server.Unlock(t.Context(), debian.VMID))

	_, err := pve.EnsureImageTemplateOn(t.Context(), ours, e.host(patience), debian)
	require.EqualError(t, err, "VM 9100 on vmhost is empty, and its tasks do not say that em-infra has begun to make it: "+
		"look at it, delete it with `qm destroy 9100 --purge` on vmhost if it is not needed, then run up again")
}

// waitForLockOf waits until a guest has a lock.
func (e *emulated) waitForLockOf(path, lock string) {
	e.t.Helper()
	client, err := e.connection.Client()
	require.NoError(e.t, err)
	polltest.Until(e.t, func() bool {
		var status struct{ Lock string }
		err := client.Get(e.t.Context(), "/nodes/"+node+path+"/status/current", &status)
		return err == nil && status.Lock == lock
	})
}
