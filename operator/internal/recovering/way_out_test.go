package recovering_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/operator/internal/recovering"
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

// TestAWayOutForAnUnseenRun: a lock whose owner is not seen to work is refused with the command that removes it, whatever the name of its
// machine is, and one whose owner works is not.
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
