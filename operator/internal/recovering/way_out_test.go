package recovering_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/operator/internal/recovering"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// Folders below a state, of claims and of the engine's locks.
const (
	claims = ".pulumi/claims/em-infra/k3s-dev"
	locks  = ".pulumi/locks/organization/em-infra/k3s-dev"
)

// TestMain gives the tests a key, which their servers do not look at, and keeps this machine's own settings out.
func TestMain(m *testing.M) {
	for name, value := range keyless {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// ownClaim returns what a run of this process writes as its claim.
func ownClaim(t *testing.T) map[string]any {
	t.Helper()
	place := address.OfFolder(t.TempDir())
	r := runOn(t, place, recovering.Turn{})
	_, err := r.ClearLocks(t.Context())
	require.NoError(t, err)
	defer r.Release(t.Context())
	text, err := os.ReadFile(path.Join(strings.TrimPrefix(place, "file://"), claims, "run.json"))
	require.NoError(t, err)
	var claim map[string]any
	require.NoError(t, json.Unmarshal(text, &claim))
	return claim
}

func inFolder(t *testing.T) string {
	t.Helper()
	return address.OfFolder(t.TempDir())
}

func inBucket(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a server")
	}
	return s3test.Start(t)
}

// put writes an object below a state.
func put(t *testing.T, place, folder, key string, content map[string]any) {
	t.Helper()
	text, err := json.Marshal(content)
	require.NoError(t, err)
	b, err := bucket.Open(t.Context(), place, folder, bucket.Limits{})
	require.NoError(t, err)
	require.NoError(t, b.Write(t.Context(), key, text))
	require.NoError(t, b.Close())
}

// TestAWayOutForAnUnseenRun: a lock whose owner is not seen to work is refused with the command that removes it, regardless of the name of its
// machine, and one whose owner works is not.
func TestAWayOutForAnUnseenRun(t *testing.T) {
	t.Parallel()
	own := ownClaim(t)
	boot, namespace, found := strings.Cut(own["machine"].(string), " ")
	require.True(t, found, "a system with /proc")
	with := func(change map[string]any) map[string]any {
		claim := map[string]any{"pid": own["pid"], "hostname": own["hostname"], "machine": own["machine"], "begun": own["begun"], "id": "other"}
		for name, value := range change {
			claim[name] = value
		}
		return claim
	}
	busy := fmt.Sprintf("another run works on this stack (process %v on %v): wait for it to end, then run again", own["pid"], own["hostname"])
	const dead = "; if it is dead for certain, `em-infra state unlock --force` removes its lock"
	for _, test := range []struct {
		name        string
		place       func(*testing.T) string
		folder, key string
		content     map[string]any
		want        string
	}{
		{"a claim of a container that is gone, in a folder", inFolder, claims, "run.json", with(map[string]any{"machine": boot + " pid:[1]"}), busy + dead},
		{"a claim of before a restart, in a bucket", inBucket, claims, "run.json", with(map[string]any{"machine": "another-boot " + namespace}), busy + dead},
		{"a claim of a run that works, in a folder", inFolder, claims, "run.json", with(nil), busy},
		{"a claim of a run that works, in a bucket", inBucket, claims, "run.json", with(nil), busy},
		{"the engine's lock without a claim, in a bucket", inBucket, locks, "one.json", with(nil), busy + dead},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			place := test.place(t)
			put(t, place, test.folder, test.key, test.content)
			_, err := runOn(t, place, recovering.Turn{}).ClearLocks(t.Context())
			require.EqualError(t, err, test.want)
		})
	}
}

// deadEngine writes the lock of an engine of this machine that was killed.
func deadEngine(t *testing.T, place string) {
	t.Helper()
	engine := exec.CommandContext(t.Context(), "true")
	require.NoError(t, engine.Run())
	here, err := os.Hostname()
	require.NoError(t, err)
	put(t, place, locks, "one.json", map[string]any{"pid": engine.ProcessState.Pid(), "hostname": here})
}

// TestAnEngineThatWasKilled: its lock in a bucket is removed with the claim of its run, so that the next run begins.
func TestAnEngineThatWasKilled(t *testing.T) {
	t.Parallel()
	place := inBucket(t)
	r := runOn(t, place, recovering.Turn{})
	_, err := r.ClearLocks(t.Context())
	require.NoError(t, err)
	deadEngine(t, place)

	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	r.Release(interrupted)
	cleared, err := r.ClearLocks(t.Context())
	require.NoError(t, err)
	require.Zero(t, cleared)
	r.Release(t.Context())
}

// TestAnEngineLockThatStays keeps the claim of its run, by which the next run judges it.
func TestAnEngineLockThatStays(t *testing.T) {
	t.Parallel()
	place := inBucket(t)
	front := s3test.Before(t, place, func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, locks) && s3test.Answer(w, http.StatusForbidden, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
	}, (*httptest.Server).Start)
	r := runOn(t, front, recovering.Turn{})
	var sentences []string
	r.Say = func(sentence string) { sentences = append(sentences, sentence) }
	_, err := r.ClearLocks(t.Context())
	require.NoError(t, err)
	deadEngine(t, place)
	r.Release(t.Context())
	require.Equal(t, []string{"this run still has its claim on the stack, because the bucket s3://states refuses the key (AccessDenied): " +
		"give the key rights, with which it may list, read, write and delete there; the next run from this machine removes it, or `em-infra state unlock  --force`"}, sentences)
	_, err = runOn(t, place, recovering.Turn{}).ClearLocks(t.Context())
	require.ErrorAs(t, err, new(*recovery.BusyError), "the claim of this process")
}
