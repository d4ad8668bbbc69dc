package recoverykit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// TestTheReminder has the exact words of an up whose cluster has no kit that fits.
func TestTheReminder(t *testing.T) {
	t.Parallel()
	own, store := description().Secrets, recoverykit.Store{Dir: filepath.Join(t.TempDir(), "kit")}
	reminds := func(want, secrets string) {
		t.Helper()
		reminder, err := store.Reminder(secrets)
		require.NoError(t, err)
		require.Equal(t, want, reminder)
	}
	reminds("there is no recovery kit for the day on which this computer is lost: `em-infra kit create` makes one", own)

	kit, err := store.Save(description(), []age.Recipient{newIdentity(t).Recipient()}, nil)
	require.NoError(t, err)
	reminds("", own)
	reminds("the recovery kit 2026-11-20T22-15-00-kit is older than the machine secrets: `em-infra kit create` makes a new one", strings.Repeat("7e", 32))

	beside := strings.TrimSuffix(kit.Path, ".tar.age") + ".json"
	require.NoError(t, os.Remove(beside))
	reminds("the recovery kit 2026-11-20T22-15-00-kit has no description beside it: `em-infra kit check` shows whether it fits", own)

	require.NoError(t, os.WriteFile(beside, []byte("{"), 0o600))
	_, err = store.Reminder(own)
	require.EqualError(t, err, "description of the recovery kit 2026-11-20T22-15-00-kit: unexpected end of JSON input: delete the file "+beside+", the kit itself is not affected")
}
