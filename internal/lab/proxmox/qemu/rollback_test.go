package qemu_test

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// starter starts a VM at the moment when another task is about to start it, as the HA manager may do.
type starter struct {
	open

	start func()
	armed atomic.Bool
}

func (s *starter) Step(_ context.Context, _ task.Info, step task.Step) error {
	if step == task.StepLock && s.armed.CompareAndSwap(true, false) {
		s.start()
	}

	return nil
}

// TestARollbackIsDoneWhenSomebodyElseStartsTheMachine starts the machine before a rollback that has to start it does.
func TestARollbackIsDoneWhenSomebodyElseStartsTheMachine(t *testing.T) {
	t.Parallel()

	faults := &starter{}
	b := newBench(t, faults)
	faults.start = func() {
		if err := b.vms.Start(t.Context(), "vmhost", 101); err != nil {
			t.Error(err)
		}
	}

	b.ask(t, http.MethodPost, "", url.Values{"vmid": {"101"}, "scsi0": {"tank:8"}})
	b.ask(t, http.MethodPost, "/101/snapshot", url.Values{"snapname": {"before"}})

	faults.armed.Store(true)
	b.ask(t, http.MethodPost, "/101/snapshot/before/rollback", url.Values{"start": {"1"}})

	for _, record := range b.env.Tasks.List().All() {
		require.NoError(t, b.env.Tasks.Await(t.Context(), record.UPID))
	}

	_, running, _ := b.vms.Find(101)
	require.True(t, running)
	require.False(t, faults.armed.Load(), "nobody else started the machine")
}

// TestNobodyStartsAMachineDuringItsRollback checks that a machine with saved memory starts under the lock file of the
// rollback, so that no other task finds it off and unlocked.
func TestNobodyStartsAMachineDuringItsRollback(t *testing.T) {
	t.Parallel()

	faults := &starter{}
	b := newBench(t, faults)

	b.ask(t, http.MethodPost, "", url.Values{"vmid": {"101"}, "scsi0": {"tank:8"}, "start": {"1"}})
	b.ask(t, http.MethodPost, "/101/snapshot", url.Values{"snapname": {"before"}, "vmstate": {"1"}})

	faults.start = func() { t.Error("a start that is not under the lock file of the rollback") }
	faults.armed.Store(true)
	b.ask(t, http.MethodPost, "/101/snapshot/before/rollback", url.Values{"start": {"1"}})

	_, running, _ := b.vms.Find(101)
	require.True(t, running)
}
