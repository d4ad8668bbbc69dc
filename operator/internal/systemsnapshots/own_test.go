package systemsnapshots_test

import (
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
		Name: "em-infra-20261126-103005", Description: "Made by em-infra for stack site-systems, before: memory 1024 → 2048 MiB; tags",
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
		{Name: "em-infra-20261126-100004", Description: "Made by em-infra for stack home-2, before: tags"}, own("05"),
	}
	for keep, want := range map[int][]string{
		1: {"em-infra-20261126-100001", "em-infra-20261126-100003"}, 2: {"em-infra-20261126-100001"}, 3: {}, 9: {},
	} {
		require.Equal(t, want, systemsnapshots.Wanted{Keep: keep}.Superfluous("home", taken), keep)
	}
	require.Empty(t, systemsnapshots.Wanted{Keep: 1}.Superfluous("other", taken))
}
