package recovering_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/recovering"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// Variables of a process that is started as one of twenty runs.
const (
	variablePlace = "TURN_PLACE"
	variableSite  = "TURN_SITE"
)

// keyless is the environment of servers that look at no key, without this machine's own settings.
var keyless = map[string]string{"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull}

func runOn(t *testing.T, place string, turn recovering.Turn) *recovering.Recovery {
	t.Helper()
	return &recovering.Recovery{
		Workspace: &workspace.Workspace{Stack: "k3s-dev", Backend: place, Home: t.TempDir()}, Now: time.Now, Say: func(string) {}, Turn: turn,
	}
}

// TestOneOfTwenty is not a test but one of the runs of [TestTwentyStartsAtOnce], which waits for its turn and works where only one run at a time
// can.
func TestOneOfTwenty(t *testing.T) {
	place, site := os.Getenv(variablePlace), os.Getenv(variableSite)
	if place == "" {
		t.Skip("it is started by TestTwentyStartsAtOnce")
	}
	go func() { // the test holds the other end: a run whose test was killed ends, too
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	r := runOn(t, place, recovering.Turn{Limit: 10 * time.Minute, Interval: 20 * time.Millisecond})
	_, err := r.ClearLocks(t.Context())
	require.NoError(t, err)
	alone := filepath.Join(site, "works")
	require.NoError(t, os.Mkdir(alone, 0o700), "another run works")
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, os.Remove(alone))
	require.NoError(t, os.WriteFile(filepath.Join(site, fmt.Sprint("done-", os.Getpid())), nil, 0o600))
	r.Release(t.Context())
}

// TestTwentyStartsAtOnce: twenty processes start on one stack, one works at a time, and each has done its work in the end.
func TestTwentyStartsAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts twenty processes and builds a server")
	}
	for name, place := range map[string]func(*testing.T) string{
		"in a folder": func(t *testing.T) string { t.Helper(); return address.OfFolder(t.TempDir()) },
		"in a bucket": s3test.Start,
	} {
		t.Run(name, func(t *testing.T) {
			at, site := place(t), t.TempDir()
			const runs = 20
			var all sync.WaitGroup
			outputs := make(chan string, runs)
			for range runs {
				all.Go(func() {
					run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneOfTwenty$", "-test.timeout=15m")
					run.Env = append(os.Environ(), variablePlace+"="+at, variableSite+"="+site)
					for key, value := range keyless {
						run.Env = append(run.Env, key+"="+value)
					}
					if _, err := run.StdinPipe(); err != nil { // closed when the run has ended
						outputs <- err.Error()
						return
					}
					if output, err := run.CombinedOutput(); err != nil {
						outputs <- string(output)
					}
				})
			}
			all.Wait()
			close(outputs)
			for output := range outputs {
				require.Empty(t, output)
			}
			done, err := filepath.Glob(filepath.Join(site, "done-*"))
			require.NoError(t, err)
			require.Len(t, done, runs)
		})
	}
}

// TestARunThatCannotEndOrphansLeavesNoClaim: its caller has nothing to release after an error.
func TestARunThatCannotEndOrphansLeavesNoClaim(t *testing.T) {
	t.Parallel()
	place := address.OfFolder(t.TempDir())
	r := runOn(t, place, recovering.Turn{})
	plugins := filepath.Join(r.Workspace.Home, "plugins")
	require.NoError(t, os.Symlink(plugins, plugins)) // it cannot be followed
	_, err := r.ClearLocks(t.Context())
	require.ErrorContains(t, err, "too many links")

	next := runOn(t, place, recovering.Turn{})
	_, err = next.ClearLocks(t.Context())
	require.NoError(t, err)
	next.Release(t.Context())
}

// TestARunIsRefusedOrWaits: by default a run is refused at once, with a text on how to wait, and one that waits is refused when its time is over.
func TestARunIsRefusedOrWaits(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	place := address.OfFolder(folder)
	file := filepath.Join(folder, ".pulumi", "claims", "em-infra", "k3s-dev", "run.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	const other = `{"pid":4712,"username":"alice","hostname":"laptop.invalid","timestamp":"2026-11-24T09:12:44Z","id":"x"}`
	require.NoError(t, os.WriteFile(file, []byte(other), 0o600))
	const busy = "another run works on this stack (process 4712 of alice on laptop.invalid, since 2026-11-24 09:12:44 UTC): wait for it to end, then run again"
	const dead = "; if it is dead for certain, `em-infra state unlock --force` removes its lock"
	var sentences []string
	tell := func(sentence string) { sentences = append(sentences, sentence) }
	for _, test := range []struct {
		turn recovering.Turn
		want string
	}{
		{recovering.Turn{}, busy + dead},
		{recovering.Turn{Offered: true, Tell: tell}, busy + ", or add --wait 30m" + dead},
		{recovering.Turn{Offered: true, Tell: tell, Limit: 100 * time.Millisecond, Interval: 10 * time.Millisecond}, busy + "; the 100ms of --wait are over" + dead},
	} {
		_, err := runOn(t, place, test.turn).ClearLocks(t.Context())
		require.EqualError(t, err, test.want)
		require.ErrorAs(t, err, new(*refusal.Error))
		require.ErrorAs(t, err, new(*recovery.BusyError))
	}
	require.Equal(t, []string{"waits until another run ends, at most 100ms (--wait): process 4712 of alice on laptop.invalid, since 2026-11-24 09:12:44 UTC"}, sentences, "once")

	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	patient := runOn(t, place, recovering.Turn{Limit: time.Hour, Tell: func(string) { cancel(interrupted) }})
	_, err := patient.ClearLocks(ctx)
	require.ErrorIs(t, err, interrupted)

	patient.Turn = recovering.Turn{Limit: time.Hour, Interval: time.Millisecond, Tell: func(string) { require.NoError(t, os.Remove(file)) }}
	cleared, err := patient.ClearLocks(t.Context())
	require.NoError(t, err)
	require.Zero(t, cleared, "the other one has ended by itself")
	_, err = runOn(t, place, recovering.Turn{}).ClearLocks(t.Context())
	require.ErrorContains(t, err, fmt.Sprintf("another run works on this stack (process %d of ", os.Getpid()))
	patient.Release(t.Context())
	require.NoFileExists(t, file)
}
