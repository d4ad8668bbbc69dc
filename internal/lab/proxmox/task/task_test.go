package task_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// clock returns a host's clock that stands at 100 s after its boot.
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

// startsInTheList counts the tasks of one machine in a node's list.
func startsInTheList(list *task.List, node, vmid string) int {
	count := 0

	for _, r := range list.OfNode(node) {
		if r.ID == vmid {
			count++
		}
	}

	return count
}

// TestTheTasksOfANodeRotate checks that a node forgets a machine's start when its other guests have filled the index twice,
// but not earlier, and that tasks of other nodes do not count.
func TestTheTasksOfANodeRotate(t *testing.T) {
	t.Parallel()

	list := task.NewList(clock())
	running := list.Add("vmhost", "qmclone", "9000", "a@pve!t")
	start := list.Add("vmhost", "qmstart", "101", "a@pve!t")
	list.Finish(start.UPID, nil)

	// A line has 69 bytes: "UPID:vmhost:000004B4:00002711:65000064:vzdump:900:a@pve!t: 65000064 OK".
	line := len(start.UPID) + len(" 65000064 OK\n") - len("qmstart:101") + len("vzdump:900")
	other := func(node string, count int) {
		for range count {
			list.Finish(list.Add(node, "vzdump", "900", "a@pve!t").UPID, nil)
		}
	}
	full := 50_000/line + 1

	other("vmhost2", 3*full)
	require.Equal(t, 1, startsInTheList(list, "vmhost", "101"), "each node has its own")
	other("vmhost", full)
	require.Equal(t, 1, startsInTheList(list, "vmhost", "101"), "it is in index.1")
	other("vmhost", full-2)
	require.Equal(t, 1, startsInTheList(list, "vmhost", "101"), "index.1 is there until the next one is full")
	other("vmhost", 2)
	require.Zero(t, startsInTheList(list, "vmhost", "101"))
	_, ok := list.Find(start.UPID)
	require.False(t, ok)

	first := list.OfNode("vmhost")[0]
	require.Equal(t, running.UPID, first.UPID, "what runs is listed first, however long it has been running")
	require.Less(t, len(list.OfNode("vmhost2")), 2*full, "no more than index and index.1")
}

// TestRestoredTasksRotateAsBefore checks that a restarted lab forgets the same tasks.
func TestRestoredTasksRotateAsBefore(t *testing.T) {
	t.Parallel()

	before := task.NewList(clock())
	for range 1000 {
		before.Finish(before.Add("vmhost", "vzdump", "900", "a@pve").UPID, nil)
	}

	after := task.NewList(clock())
	after.Restore(before.Records())
	require.Equal(t, before.OfNode("vmhost"), after.OfNode("vmhost"))

	for range 600 {
		before.Finish(before.Add("vmhost", "qmstart", "101", "a@pve").UPID, nil)
		after.Finish(after.Add("vmhost", "qmstart", "101", "a@pve").UPID, nil)
	}

	require.Len(t, after.OfNode("vmhost"), len(before.OfNode("vmhost")))
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
