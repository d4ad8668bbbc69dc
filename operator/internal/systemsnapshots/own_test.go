package systemsnapshots_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/systemsnapshots"
)

func TestTheSnapshotOfARun(t *testing.T) {
	t.Parallel()
	wanted := systemsnapshots.Wanted{
		System: "tools", Guest: pve.Guest{VMID: 210, Node: "vmhost", Type: pve.TypeVM}, Changes: []string{"memory 1024 → 2048 MiB", "tags"},
	}
	at := time.Date(2026, 11, 26, 11, 30, 5, 0, time.FixedZone("CET", 3600))
	require.Equal(t, pve.Snapshot{
		Name: "em-infra-20261126-103005", Description: "Made by em-infra for stack site-systems, before a change that has not succeeded: memory 1024 → 2048 MiB; tags",
	}, wanted.Snapshot("site-systems", at))
	require.Equal(t, "`qm rollback 210 em-infra-20261126-103005` on vmhost", wanted.WayBack("em-infra-20261126-103005"))
	wanted.Guest = pve.Guest{VMID: 211, Node: "vmhost-2", Type: pve.TypeContainer}
	require.Equal(t, "`pct rollback 211 em-infra-20261126-103005` on vmhost-2", wanted.WayBack("em-infra-20261126-103005"))
}

// TestOnlyOwnSnapshotsAreRemoved: the name alone, or the description alone, does not make one ours.
func TestOnlyOwnSnapshotsAreRemoved(t *testing.T) {
	t.Parallel()
	own := func(second string) pve.Snapshot {
		return pve.Snapshot{Name: "em-infra-20261126-1000" + second, Description: "Made by em-infra for stack home, before: tags\n"}
	}
	taken := []pve.Snapshot{
		{Name: "mine"}, own("01"), {Name: "em-infra-20261126-100002", Description: "by hand"}, own("03"),
		{Name: "em-infra-mine", Description: "Made by em-infra for stack home, before: tags"},
		{Name: "em-infra-20261126-100006", Description: own("06").Description, Unfinished: "delete"},
		{Name: "em-infra-20261126-100004", Description: "Made by em-infra for stack home-2, before: tags"}, own("05"),
	}
	for keep, want := range map[int][]string{
		1: {"em-infra-20261126-100001", "em-infra-20261126-100003"}, 2: {"em-infra-20261126-100001"}, 3: {}, 9: {},
	} {
		require.Equal(t, want, systemsnapshots.Superfluous("home", keep, taken), keep)
	}
	require.Empty(t, systemsnapshots.Superfluous("other", 1, taken))
}

// TestTheMarkOfAChangeThatSucceeded: own marked snapshots get another description, which is no mark any more.
func TestTheMarkOfAChangeThatSucceeded(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)
	open := systemsnapshots.Wanted{Changes: []string{"tags"}}.Snapshot("home", at)
	foreign := systemsnapshots.Wanted{Changes: []string{"tags"}}.Snapshot("home-2", at)
	open.Description += "\n" // as Proxmox VE returns it
	now := systemsnapshots.Succeeded("home", []pve.Snapshot{{Name: "mine", Description: open.Description}, foreign, open})
	require.Equal(t, []pve.Snapshot{{Name: "em-infra-20261126-100000", Description: "Made by em-infra for stack home, before: tags"}}, now)
	require.Empty(t, systemsnapshots.Succeeded("home", now))
	require.Equal(t, []string{"em-infra-20261126-100000"}, systemsnapshots.Superfluous("home", 0, now), "it is still one of the stack")
}

// TestWhatToDoAboutASnapshotThatCannotBeTaken: a lock is in the way of the change, too, so keep: 0 is no way out.
func TestWhatToDoAboutASnapshotThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	wanted := systemsnapshots.Wanted{System: "tools", Guest: pve.Guest{VMID: 210, Node: "vmhost", Type: pve.TypeVM}}
	require.Equal(t, "mend that, or set snapshots: {keep: 0} for tools", wanted.Mend(errors.New("snapshot feature is not available")))
	const wait = "wait for the end of its task (`pvesh get /nodes/vmhost/tasks --source active`), or if there is none, run "
	require.Equal(t, wait+"`qm unlock 210` on vmhost", wanted.Mend(errors.New("the snapshot a1 cannot be taken: VM is locked (backup)")))
	wanted.Guest = pve.Guest{VMID: 211, Node: "vmhost", Type: pve.TypeContainer}
	require.Equal(t, wait+"`pct unlock 211` on vmhost", wanted.Mend(errors.New("the snapshot a1 cannot be taken: CT is locked (snapshot)")))
}
