package recovery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// TestClaimInAFolder: a claim beside a state on this machine ends with its process and with a restart of the machine.
func TestClaimInAFolder(t *testing.T) {
	t.Parallel()
	at := placeIn(t.TempDir())
	own := recovery.OwnClaim()
	boot, namespace, found := strings.Cut(own.Machine, " ")
	require.True(t, found, "a system with /proc")
	dead := deadProcess(t)
	for _, test := range []struct {
		name, host, machine string
		stale               bool
	}{
		{"a process that has ended", own.Hostname, own.Machine, true},
		{"before a restart", own.Hostname, "another-boot " + namespace, true},
		{"in another container", own.Hostname, boot + " pid:[1]", false},
		{"on a machine that shares the folder", "nas.invalid", "another-boot " + namespace, false},
		{"of a system that does not tell its boot", own.Hostname, "", false},
	} {
		_, err := recovery.TakeOn(t.Context(), at, recovery.Claim{Lock: recovery.Lock{PID: dead, Hostname: test.host}, Machine: test.machine, Begun: "1"})
		require.NoError(t, err, test.name)
		locks, err := recovery.Locks(t.Context(), at)
		require.NoError(t, err)
		require.Len(t, locks, 1)
		require.Equal(t, test.stale, locks[0].Stale, test.name)
		cleared, err := recovery.ClearStaleLocks(t.Context(), at, time.Time{})
		if test.stale {
			require.NoError(t, err, test.name)
			require.Equal(t, 1, cleared)
			continue
		}
		require.ErrorAs(t, err, new(*recovery.BusyError), test.name)
		require.NoError(t, recovery.RemoveClaims(t.Context(), at))
	}
	held, err := recovery.Take(t.Context(), at, today)
	require.NoError(t, err)
	other, err := recovery.Owner(t.Context(), at)
	require.NoError(t, err)
	require.Nil(t, other, "this process")
	_, err = recovery.Take(t.Context(), at, today)
	require.ErrorAs(t, err, new(*recovery.BusyError), "a second operation of it")
	require.NoError(t, held.Release(t.Context(), at))
	left, err := os.ReadDir(filepath.Join(strings.TrimPrefix(at.Backend, "file://"), ".pulumi", "claims", "em-infra", "k3s-dev"))
	require.NoError(t, err)
	require.Empty(t, left)

	nowhere := placeIn(filepath.Join(t.TempDir(), "none"))
	held, err = recovery.Take(t.Context(), nowhere, today)
	require.NoError(t, err)
	require.Nil(t, held, "a folder that does not exist is not made")
	require.NoDirExists(t, strings.TrimPrefix(nowhere.Backend, "file://"))
}

// TestARemovalThatWasKilled: a claim of a dead run whose removal was cut off is removed by the next run, and one that another process
// removes just now is left to it.
func TestARemovalThatWasKilled(t *testing.T) {
	t.Parallel()
	own := recovery.OwnClaim()
	dead := recovery.Claim{Lock: recovery.Lock{PID: deadProcess(t), Hostname: own.Hostname}, Machine: own.Machine, Begun: "1"}
	for _, test := range []struct {
		name    string
		remover any
		busy    string // who removes it
	}{
		{"the remover is dead", withID(dead, "remover"), ""},
		{"the mark is torn", "", ""},
		{"the mark names no process", struct{}{}, ""},
		{"the remover works", withID(own, "remover"), fmt.Sprintf("process %d of ", own.PID)},
		{"the remover is elsewhere", withID(recovery.Claim{Lock: recovery.Lock{PID: 1, Hostname: "elsewhere.invalid"}}, "remover"), "process 1 on elsewhere.invalid"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			at := recovery.Place{Backend: address.OfFolder(folder), Project: "em-infra", Stack: "k3s-dev"}
			held, err := recovery.TakeOn(t.Context(), at, dead)
			require.NoError(t, err)
			claims := filepath.Join(folder, ".pulumi", "claims", "em-infra", "k3s-dev")
			mark, err := json.Marshal(test.remover)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(claims, "ended-"+held.ID+".json"), mark, 0o600))

			cleared, err := recovery.ClearStaleLocks(t.Context(), at, time.Time{})
			if test.busy != "" {
				require.ErrorContains(t, err, "another run works on this stack ("+test.busy)
				return
			}
			require.NoError(t, err)
			require.Equal(t, 1, cleared)
			left, err := os.ReadDir(claims)
			require.NoError(t, err)
			require.Empty(t, left, "neither the claim nor a mark")
		})
	}
}

func withID(c recovery.Claim, id string) recovery.Claim {
	c.ID = id
	return c
}

// TestARemovalIsNotCutOff by Ctrl-C between the mark and its end.
func TestARemovalIsNotCutOff(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := recovery.Place{Backend: address.OfFolder(folder), Project: "em-infra", Stack: "k3s-dev"}
	own := recovery.OwnClaim()
	_, err := recovery.TakeOn(t.Context(), at, recovery.Claim{Lock: recovery.Lock{PID: deadProcess(t), Hostname: own.Hostname}, Machine: own.Machine, Begun: "1"})
	require.NoError(t, err)
	locks, err := recovery.Locks(t.Context(), at)
	require.NoError(t, err)
	require.Len(t, locks, 1)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = recovery.ClearStaleLocks(interrupted, at, time.Time{})
	require.NoError(t, err)
	left, err := os.ReadDir(filepath.Join(folder, ".pulumi", "claims", "em-infra", "k3s-dev"))
	require.NoError(t, err)
	require.Empty(t, left)
}
