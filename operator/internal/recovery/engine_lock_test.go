package recovery_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// deadRun is the claim of a run of this machine that was killed.
func deadRun(t *testing.T) recovery.Claim {
	t.Helper()
	own := recovery.OwnClaim()
	return recovery.Claim{Lock: recovery.Lock{PID: deadProcess(t), Hostname: own.Hostname}, Machine: own.Machine, Begun: "1"}
}

// withoutDeletions returns the same place, where nothing can be deleted in a folder.
func withoutDeletions(t *testing.T, at recovery.Place, folder string) recovery.Place {
	t.Helper()
	at.Backend = s3test.Before(t, at.Backend, func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, folder) &&
			s3test.Answer(w, http.StatusForbidden, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
	}, (*httptest.Server).Start)
	return at
}

// TestClearingThatIsCutOff leaves the claim, by which the next run can judge the lock of the engine.
func TestClearingThatIsCutOff(t *testing.T) {
	t.Parallel()
	at := inBucket(t)
	dead := deadRun(t)
	_, err := recovery.TakeOn(t.Context(), at, dead)
	require.NoError(t, err)
	engineLock(t, at, "one.json", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, deadProcess(t), dead.Hostname))

	_, err = recovery.ClearStaleLocks(t.Context(), withoutDeletions(t, at, ".pulumi/locks/"), time.Time{})
	require.EqualError(t, err, "the bucket s3://states refuses the key (AccessDenied): give the key rights, with which it may list, read, write and delete there")
	cleared, err := recovery.ClearStaleLocks(t.Context(), at, time.Time{})
	require.NoError(t, err)
	require.Equal(t, 2, cleared)
}

// TestALivingEngineKeepsTheClaimOfItsRun: without the claim nothing could judge the engine's lock once it is dead, too.
func TestALivingEngineKeepsTheClaimOfItsRun(t *testing.T) {
	t.Parallel()
	at := inBucket(t)
	dead := deadRun(t)
	_, err := recovery.TakeOn(t.Context(), at, dead)
	require.NoError(t, err)
	living := livingCLI(t)
	engineLock(t, at, "one.json", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, living, dead.Hostname))

	_, err = recovery.ClearStaleLocks(t.Context(), at, time.Time{})
	require.EqualError(t, err, fmt.Sprintf("another run works on this stack (process %d on %s): wait for it to end, then run again", living, dead.Hostname))
	locks, err := recovery.Locks(t.Context(), at)
	require.NoError(t, err)
	require.Len(t, locks, 2)
}

// TestRemoveDead: a run removes what its dead engine has left, and nothing else.
func TestRemoveDead(t *testing.T) {
	t.Parallel()
	at := inBucket(t)
	held, err := recovery.Take(t.Context(), at, today)
	require.NoError(t, err)
	here := held.Hostname
	engineLock(t, at, "dead.json", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, deadProcess(t), here))
	engineLock(t, at, "elsewhere.json", `{"pid":7,"hostname":"desk.invalid"}`)
	engineLock(t, at, "living.json", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, livingCLI(t), here))

	left, err := recovery.RemoveDead(t.Context(), at)
	require.NoError(t, err)
	require.Equal(t, "desk.invalid", left.Hostname)
	locks, err := recovery.Locks(t.Context(), at)
	require.NoError(t, err)
	require.Len(t, locks, 3)
	require.True(t, locks[0].IsOwn(), "the claim")
	require.Equal(t, "desk.invalid", locks[1].Hostname)
	require.Equal(t, here, locks[2].Hostname)
}
