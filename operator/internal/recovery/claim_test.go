package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// TestMain gives the tests a key, which their servers do not look at, and keeps the machine's own settings and pipeline out.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"GITHUB_RUN_ID": "", "CI_JOB_URL": "",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func inBucket(t *testing.T) recovery.Place {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a server")
	}
	return recovery.Place{Backend: s3test.Start(t), Project: "em-infra", Stack: "k3s-dev"}
}

var today = time.Date(2026, 11, 23, 9, 12, 44, 0, time.UTC)

// elsewhere is the claim of a process on another machine.
func elsewhere(number int) recovery.Claim {
	return recovery.Claim{
		Lock:    recovery.Lock{PID: number, Username: "runner", Hostname: fmt.Sprintf("runner-%d.invalid", number), Run: "https://forge.invalid/home/lab/actions/runs/7", Since: today},
		Machine: fmt.Sprintf("a boot of machine %d", number),
	}
}

// TestClaimOfTwenty: of 20 runs that start at once on 20 machines, one works at a time, each other one gets the name of the owner, and each comes
// to its turn.
func TestClaimOfTwenty(t *testing.T) {
	t.Parallel()
	at := inBucket(t)
	const runs = 20
	var (
		all           sync.WaitGroup
		working, busy atomic.Int32
		ended         atomic.Int32
		problems      = make(chan error, runs)
	)
	for number := range runs {
		all.Go(func() {
			problems <- func() error {
				for {
					held, err := recovery.TakeOn(t.Context(), at, elsewhere(number))
					var other *recovery.BusyError
					if errors.As(err, &other) {
						busy.Add(1)
						continue
					}
					if err != nil {
						return err
					}
					if others := working.Add(1); others != 1 {
						return fmt.Errorf("%d runs work at once", others)
					}
					owner, err := recovery.Owner(t.Context(), at) // some requests, as a run does
					if err != nil || owner == nil || owner.PID != number {
						return fmt.Errorf("run %d works, and %v is named: %w", number, owner, err)
					}
					working.Add(-1)
					ended.Add(1)
					return held.Release(t.Context(), at)
				}
			}()
		})
	}
	all.Wait()
	close(problems)
	for err := range problems {
		require.NoError(t, err)
	}
	require.EqualValues(t, runs, ended.Load())
	require.Positive(t, busy.Load())
	locks, err := recovery.Locks(t.Context(), at)
	require.NoError(t, err)
	require.Empty(t, locks)
}

// TestClaimNamesItsOwner, and stays until its owner, a rule or a person ends it.
func TestClaimNamesItsOwner(t *testing.T) {
	t.Parallel()
	at := inBucket(t)
	_, err := recovery.TakeOn(t.Context(), at, elsewhere(4712))
	require.NoError(t, err)
	const owner = "another run works on this stack (process 4712 of runner on runner-4712.invalid, https://forge.invalid/home/lab/actions/runs/7, since 2026-11-23 09:12:44 UTC): wait for it to end, then run again"
	_, err = recovery.Take(t.Context(), at, today)
	require.EqualError(t, err, owner)
	_, err = recovery.ClearStaleLocks(t.Context(), at, today)
	require.EqualError(t, err, owner)

	engineLock(t, at, "one.json", `{"pid":4720,"username":"runner","hostname":"runner-4712.invalid","timestamp":"2026-11-23T09:13:00Z"}`)
	locks, err := recovery.Locks(t.Context(), at)
	require.NoError(t, err)
	require.Len(t, locks, 2)
	require.Equal(t, "process 4720 of runner on runner-4712.invalid, https://forge.invalid/home/lab/actions/runs/7, since 2026-11-23 09:13:00 UTC", locks[1].Owner(), "the engine does not know its pipeline")

	cleared, err := recovery.ClearStaleLocks(t.Context(), at, today.Add(recovery.Abandonable))
	require.NoError(t, err)
	require.Equal(t, 2, cleared, "a person asks, and both are older than a day")
	held, err := recovery.Take(t.Context(), at, today)
	require.NoError(t, err)
	require.NotNil(t, held)
	engineLock(t, at, "two.json", `{"pid":7,"username":"bob","hostname":"desk.invalid"}`)
	other, err := recovery.Owner(t.Context(), at)
	require.NoError(t, err)
	require.Equal(t, "process 7 of bob on desk.invalid", other.Owner(), "a plain pulumi, and not the claim of this run")
	require.NoError(t, recovery.RemoveClaims(t.Context(), at))
	require.NoError(t, held.Release(t.Context(), at), "a claim that is gone is no error")
}

// TestClaimOfADeadRun: a claim ends only if its run has certainly ended.
func TestClaimOfADeadRun(t *testing.T) {
	t.Parallel()
	at := inBucket(t)
	here, own := recovery.OwnClaim().Hostname, recovery.OwnClaim()
	again := own
	again.Begun = "1" // another process has had our number before
	for _, test := range []struct {
		name  string
		claim recovery.Claim
		stale bool
	}{
		{"this process", own, false},
		{"a process of before with our number", again, true},
		{"a process that has ended", recovery.Claim{Lock: recovery.Lock{PID: deadProcess(t), Hostname: here}, Machine: own.Machine, Begun: "1"}, true},
		{"a machine of the same name", recovery.Claim{Lock: recovery.Lock{PID: deadProcess(t), Hostname: here}, Machine: "another boot"}, false},
		{"a system that does not tell its boot", recovery.Claim{Lock: recovery.Lock{PID: deadProcess(t), Hostname: here}}, false},
	} {
		_, err := recovery.TakeOn(t.Context(), at, test.claim)
		require.NoError(t, err, test.name)
		engineLock(t, at, "one.json", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, deadProcess(t), here))
		locks, err := recovery.Locks(t.Context(), at)
		require.NoError(t, err)
		require.Len(t, locks, 2, test.name)
		require.Equal(t, test.stale, locks[0].Stale, test.name)
		require.Equal(t, test.name == "this process", locks[0].IsOwn(), test.name)
		require.Equal(t, test.claim.Machine == own.Machine, locks[1].Stale, "the engine's lock is judged by a claim of this machine: "+test.name)
		if test.stale {
			cleared, err := recovery.ClearStaleLocks(t.Context(), at, time.Time{})
			require.NoError(t, err)
			require.Equal(t, 2, cleared)
		}
		require.NoError(t, recovery.RemoveClaims(t.Context(), at))
		_, err = recovery.ClearStaleLocks(t.Context(), recovery.Place{Backend: at.Backend, Project: at.Project, Stack: "none"}, time.Time{})
		require.NoError(t, err)
		removeEngineLock(t, at, "one.json")
	}
}

// TestClaimOfALaterAttempt: a job of a pipeline that is started again has ended before.
func TestClaimOfALaterAttempt(t *testing.T) {
	github := map[string]string{
		"GITHUB_RUN_ID": "4711", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "home/lab", "GITHUB_JOB": "up", "GITHUB_RUN_ATTEMPT": "2", "GITHUB_RUN_NUMBER": "12",
	}
	gitlab := map[string]string{
		"CI_JOB_URL": "https://gitlab.com/home/lab/-/jobs/99", "CI_PROJECT_URL": "https://gitlab.com/home/lab", "CI_PIPELINE_ID": "7", "CI_JOB_NAME": "up", "CI_JOB_ID": "99",
	}
	env := func(of map[string]string) func(string) string { return func(name string) string { return of[name] } }
	run, job, attempt := recovery.PipelineRun(env(gitlab))
	require.Equal(t, []any{"https://gitlab.com/home/lab/-/jobs/99", "https://gitlab.com/home/lab 7 up", 99}, []any{run, job, attempt})
	run, job, attempt = recovery.PipelineRun(env(github))
	require.Equal(t, []any{"https://github.com/home/lab/actions/runs/4711", "https://github.com/home/lab/actions/runs/4711 up", 2}, []any{run, job, attempt})
	github["FORGEJO_ACTIONS"] = "true"
	run, _, _ = recovery.PipelineRun(env(github))
	require.Equal(t, "https://github.com/home/lab/actions/runs/12", run)
	run, job, attempt = recovery.PipelineRun(env(nil))
	require.Equal(t, []any{"", "", 0}, []any{run, job, attempt})

	at := inBucket(t)
	for name, value := range gitlab {
		t.Setenv(name, value)
	}
	for _, test := range []struct {
		job     string
		attempt int
		stale   bool
	}{
		{"https://gitlab.com/home/lab 7 up", 98, true},
		{"https://gitlab.com/home/lab 7 up", 99, false},
		{"https://gitlab.com/home/lab 7 destroy", 98, false},
		{"https://gitlab.com/home/lab 6 up", 90, false},
	} {
		claim := elsewhere(1)
		claim.Job, claim.Attempt = test.job, test.attempt
		_, err := recovery.TakeOn(t.Context(), at, claim)
		require.NoError(t, err)
		locks, err := recovery.Locks(t.Context(), at)
		require.NoError(t, err)
		require.Equal(t, test.stale, locks[0].Stale, "%s, attempt %d", test.job, test.attempt)
		require.NoError(t, recovery.RemoveClaims(t.Context(), at))
	}
}

// TestClaimWithoutConditions: a server that does not know them is used without them.
func TestClaimWithoutConditions(t *testing.T) {
	t.Parallel()
	at := inBucket(t)
	at.Backend = s3test.Before(t, at.Backend, func(w http.ResponseWriter, r *http.Request) bool {
		return r.Header.Get("If-None-Match") != "" && s3test.Answer(w, http.StatusNotImplemented,
			"<Error><Code>NotImplemented</Code><Message>A header you provided implies functionality that is not implemented.</Message></Error>")
	}, (*httptest.Server).Start)
	held, err := recovery.TakeOn(t.Context(), at, elsewhere(1))
	require.NoError(t, err)
	_, err = recovery.TakeOn(t.Context(), at, elsewhere(2))
	var busy *recovery.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, 1, busy.PID)
	require.NoError(t, held.Release(t.Context(), at))
	_, err = recovery.TakeOn(t.Context(), at, elsewhere(2))
	require.NoError(t, err)
}

// engineLock writes a lock as the engine does.
func engineLock(t *testing.T, at recovery.Place, key, text string) {
	t.Helper()
	require.True(t, json.Valid([]byte(text)))
	inLocks(t, at, func(ctx context.Context, b *bucket.Bucket) error { return b.Write(ctx, key, []byte(text)) })
}

func removeEngineLock(t *testing.T, at recovery.Place, key string) {
	t.Helper()
	inLocks(t, at, func(ctx context.Context, b *bucket.Bucket) error {
		if err := b.Delete(ctx, key); !errors.Is(err, object.ErrNotFound) {
			return err
		}
		return nil
	})
}

func inLocks(t *testing.T, at recovery.Place, do func(context.Context, *bucket.Bucket) error) {
	t.Helper()
	b, err := bucket.Open(t.Context(), at.Backend, ".pulumi/locks/organization/em-infra/k3s-dev", bucket.Limits{})
	require.NoError(t, err)
	require.NoError(t, do(t.Context(), b))
	require.NoError(t, b.Close())
}
