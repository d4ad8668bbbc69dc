package operator_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/operator"
)

func atNine() time.Time { return time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC) }

// TestAStateThatWasMovedIsNotBegunAnew: after a move in either direction, the place that it has left has a note of where it is.
func TestAStateThatWasMovedIsNotBegunAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	url, root := s3test.Start(t), t.TempDir()
	folder := address.OfFolder(filepath.Join(root, ".state"))
	s, _ := sessionOf(t, operator.Options{Stack: "k3s-dev"}, false, atNine)
	s.workspace.Dir = root
	s.workspace.Backend = folder
	require.NoError(t, s.CheckNotMoved(t.Context()), "a folder that does not exist")
	require.NoError(t, os.Mkdir(filepath.Join(root, ".state"), 0o700))
	require.NoError(t, s.CheckNotMoved(t.Context()), "a stack that never was")

	require.NoError(t, s.NoteMove(t.Context(), url))
	const advice = " on 2026-11-24: take the newest Pulumi.k3s-dev.yaml from git, or write `em-infra:backend: "
	gone := "the state of stack k3s-dev is not in " + folder + " any more, it was moved to s3://states" + advice + url + "` below config in it"
	require.EqualError(t, s.CheckNotMoved(t.Context()), gone)
	require.EqualError(t, s.MayCreateState(t.Context()), gone, "no backup is put back there either")

	s.workspace.Backend = url
	require.NoError(t, s.CheckNotMoved(t.Context()))
	require.NoError(t, s.NoteMove(t.Context(), folder))
	require.EqualError(t, s.CheckNotMoved(t.Context()), "the state of stack k3s-dev is not in s3://states any more, it was moved to "+folder+advice+folder+"` below config in it")
	s.workspace.Backend = folder
	require.NoError(t, s.CheckNotMoved(t.Context()), "it is back")

	require.NoError(t, os.WriteFile(filepath.Join(root, ".state", ".em-infra", "moved", "em-infra", "k3s-dev.json"), []byte("{"), 0o600))
	require.ErrorContains(t, s.CheckNotMoved(t.Context()), "the note on where the state of stack k3s-dev was moved to cannot be read (unexpected end of JSON input): look for it in "+folder+"/.em-infra/moved/em-infra")
	s.workspace.Backend = "gs://states"
	require.NoError(t, s.NoteMove(t.Context(), "gs://other"))
	require.NoError(t, s.CheckNotMoved(t.Context()))
}

// TestAStateIsMadeOnce: the engine wrote a salt or key into the stack's file with the first one, which shows on any machine that there was one.
func TestAStateIsMadeOnce(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, nil, false)
	s.workspace.Dir = t.TempDir()
	s.workspace.Backend = "s3://states/typo?region=eu-central-1"
	require.NoError(t, s.CheckFirst(), "no file")
	const place = "config:\n  em-infra:backend: s3://states/typo?region=eu-central-1\n"
	for _, test := range []struct {
		text string
		had  bool
	}{
		{"", false},
		{"secretsprovider: awskms://alias/states\n", false},
		{"encryptionsalt: v1:x\n", true},
		{"secretsprovider: awskms://alias/states\nencryptedkey: x\n", true},
	} {
		require.NoError(t, os.WriteFile(s.workspace.StackFile(), []byte(place+test.text), 0o600))
		err := s.CheckFirst()
		if !test.had {
			require.NoError(t, err, test.text)
			continue
		}
		require.EqualError(t, err, "stack k3s-dev has had a state ("+s.workspace.StackFile()+" has its salt or key), and s3://states/typo has none: if it is elsewhere, write its URL as em-infra:backend below config in that file; if it is lost, see `em-infra state list --stack k3s-dev` and `em-infra adopt`; for a new cluster, delete the lines encryptionsalt and encryptedkey there, and the values that they seal")
	}
	s.workspace.Backend = address.OfFolder(t.TempDir())
	require.NoError(t, s.CheckFirst(), "a draft")
	require.NoError(t, os.WriteFile(s.workspace.StackFile(), []byte("encryptionsalt: v1:x\n"), 0o600))
	require.NoError(t, s.workspace.RereadBackend())
	require.ErrorContains(t, s.CheckFirst(), "stack k3s-dev has had a state (")
	s.workspace.Rehearsed = true
	require.NoError(t, s.workspace.RereadBackend())
	require.NoError(t, s.CheckFirst(), "a rehearsal begins anew")
}

// TestAStateThatIsElsewhereWasBroughtUp: no operation may claim that a stack with a salt was never brought up.
func TestAStateThatIsElsewhereWasBroughtUp(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, nil, false)
	s.workspace.Dir, s.workspace.Home = t.TempDir(), t.TempDir()
	s.workspace.Backups, s.workspace.Backend = filepath.Join(s.workspace.Dir, "backups"), address.OfFolder(t.TempDir())
	require.EqualError(t, s.MayBeMade(t.Context(), false), "there is no state of stack k3s-dev: nothing was ever brought up; `em-infra up` does that")
	require.NoError(t, os.WriteFile(s.workspace.StackFile(), []byte("config:\n  em-infra:backend: "+s.workspace.Backend+"\nencryptionsalt: v1:x\n"), 0o600))
	for _, create := range []bool{false, true} {
		err := s.MayBeMade(t.Context(), create)
		require.ErrorAs(t, err, new(*operator.RefusedError))
		require.ErrorContains(t, err, "stack k3s-dev has had a state (")
	}
}
