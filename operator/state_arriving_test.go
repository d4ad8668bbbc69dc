package operator_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/operator"
)

// TestAMoveThatWasCutOffIsNotFinishedBlindly: neither with a copy that is not complete, nor if the state was used since in the place that it has left.
func TestAMoveThatWasCutOffIsNotFinishedBlindly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	from, to := filepath.Join(root, "old"), filepath.Join(root, "new")
	s, recorded := sessionOf(t, operator.Options{Stack: "k3s-dev"}, false, atNine)
	s.workspace.Dir, s.workspace.Backend = root, address.OfFolder(to)
	s.State().Project, s.State().Stack, s.State().Env = "em-infra", "k3s-dev", map[string]string{}
	finish := func() error {
		t.Helper()
		finished, err := s.FinishMove(t.Context())
		require.False(t, finished)
		return err
	}
	require.NoError(t, finish(), "nothing moves here")

	writeNote := func(note any) string {
		t.Helper()
		text, err := json.Marshal(note)
		require.NoError(t, err)
		return writeBelow(t, to, ".em-infra/arriving/em-infra/k3s-dev.json", text)
	}
	writeNote(map[string]any{"from": address.OfFolder(from), "written": atNine()})
	const advice = "Pulumi.k3s-dev.yaml names the new place: write `em-infra:backend: "
	require.EqualError(t, finish(), "the state of stack k3s-dev was not yet copied from "+address.OfFolder(from)+" when its move was cut off, and "+advice+address.OfFolder(from)+
		"` below config in it, then run `em-infra state migrate --stack k3s-dev --to '"+address.OfFolder(to)+"'` again")

	note := writeNote(map[string]any{"from": address.OfFolder(from), "written": atNine(), "complete": true})
	require.NoError(t, finish(), "a folder of another computer")
	writeBelow(t, from, ".pulumi/stacks/em-infra/k3s-dev.json", checkpointOf(t, atNine().Add(time.Hour)))
	require.EqualError(t, finish(), "the state of stack k3s-dev was moved from "+address.OfFolder(from)+" to "+address.OfFolder(to)+
		", and the old copy was changed afterwards (at 2026-11-24 10:00:00; what was moved is of 2026-11-24 09:00:00), by a run with an older Pulumi.k3s-dev.yaml: to keep the old copy, write `em-infra:backend: "+
		address.OfFolder(from)+"` below config in that file; to drop it, remove it with `PULUMI_BACKEND_URL='"+address.OfFolder(from)+"' pulumi stack rm --stack k3s-dev --force --preserve-config`")

	require.NoError(t, os.WriteFile(note, []byte("{"), 0o600))
	require.EqualError(t, finish(), "the note on a move of the state of stack k3s-dev cannot be read (unexpected end of JSON input): look for it in "+address.OfFolder(to)+"/.em-infra/arriving/em-infra")
	require.Empty(t, *recorded)
}

// checkpointOf returns the file of a state that was written then.
func checkpointOf(t *testing.T, written time.Time) []byte {
	t.Helper()
	checkpoint, err := json.Marshal(apitype.CheckpointV3{Latest: &apitype.DeploymentV3{Manifest: apitype.ManifestV1{Time: written}}})
	require.NoError(t, err)
	text, err := json.Marshal(apitype.VersionedCheckpoint{Version: 3, Checkpoint: checkpoint})
	require.NoError(t, err)
	return text
}

// writeBelow writes a file below a folder, and returns its path.
func writeBelow(t *testing.T, folder, path string, text []byte) string {
	t.Helper()
	file := filepath.Join(folder, filepath.FromSlash(path))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}
