package task_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// clock is a host's clock that stands at 100 s after its boot.
func clock() func() time.Time {
	booted := time.Unix(0x65000000, 0)
	calls := 0

	return func() time.Time {
		calls++
		if calls == 1 {
			return booted
		}

		return booted.Add(100 * time.Second)
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()

	list := task.NewList(clock())
	first := list.Add("vmhost", "qmclone", "9000", "a@pve!t")
	require.Equal(t, "UPID:vmhost:000004B1:00002711:65000064:qmclone:9000:a@pve!t:", first.UPID)
	require.True(t, task.ValidUPID(first.UPID))
	require.True(t, first.Running())

	list.Print(first.UPID, "one\ntwo\n")
	list.Finish(first.UPID, errors.New("clone failed: a\nb"))
	list.Finish(first.UPID, nil)

	found, ok := list.Find(first.UPID)
	require.True(t, ok)
	require.Equal(t, "clone failed: a b", found.Exit, "the first end counts, on one line")
	require.Equal(t, []string{"one", "two", "TASK ERROR: clone failed: a b"}, found.Log)

	second := list.Add("vmhost", "qmstart", "101", "a@pve")
	list.Finish(second.UPID, nil)
	list.Print("UPID:unknown", "x")

	all := list.All()
	require.Equal(t, []string{second.UPID, first.UPID}, []string{all[0].UPID, all[1].UPID})
	require.Equal(t, task.StatusOK, all[0].Exit)
	require.Equal(t, []string{"TASK OK"}, all[0].Log)

	_, ok = list.Find("UPID:unknown")
	require.False(t, ok)
}

func TestRestore(t *testing.T) {
	t.Parallel()

	before := task.NewList(clock())
	done := before.Add("vmhost", "qmclone", "9000", "a@pve")
	before.Finish(done.UPID, nil)
	cut := before.Add("vmhost", "qmstart", "101", "a@pve")

	records := before.All()
	after := task.NewList(clock())
	after.Restore([]task.Record{records[1], records[0]})

	found, ok := after.Find(cut.UPID)
	require.True(t, ok)
	require.Equal(t, "unexpected status", found.Exit)
	require.Greater(t, after.NextPID(), cut.PID)
}

// TestOldTasksAreForgotten holds that a lab that runs for long keeps its size, and what runs is kept.
func TestOldTasksAreForgotten(t *testing.T) {
	t.Parallel()

	list := task.NewList(time.Now)
	running := list.Add("vmhost", "qmstart", "100", "a@pve")

	for range 2500 {
		list.Finish(list.Add("vmhost", "qmstart", "101", "a@pve").UPID, nil)
	}

	require.Len(t, list.All(), 2000)

	_, ok := list.Find(running.UPID)
	require.True(t, ok)
}

func TestUPIDsThatAreNone(t *testing.T) {
	t.Parallel()

	for _, text := range []string{
		"", "UPID:vmhost", "UPID:vmhost:1:00000001:00000001:qmstart:1:root@pam:",
		"UPID:-:00000001:00000001:00000001:qmstart:1:root@pam:", "UPID:vmhost:00000001:00000001:00000001::1:root@pam:",
	} {
		require.False(t, task.ValidUPID(text), text)
	}
}
