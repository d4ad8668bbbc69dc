package artifacts_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/artifacts"
)

const (
	typeVM        = "proxmoxve:VM/virtualMachine:VirtualMachine"
	typeSecrets   = "talos:machine/secrets:Secrets"
	typeBootstrap = "talos:machine/bootstrap:Bootstrap"
	typeNode      = "em-infra:index:TalosNode"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	run := begin(t) // at 0 s; each event is a second later
	for _, event := range []events.EngineEvent{
		before(typeNode, "w-1", apitype.OpCreate),
		before(typeSecrets, "lab-secrets", apitype.OpSame),
		before(typeVM, "cp-1-vm", apitype.OpCreate),
		before(typeVM, "w-1-vm", apitype.OpCreate),
		after(typeVM, "cp-1-vm", apitype.OpCreate),
		failure(typeVM, "w-1-vm", apitype.OpCreate),
		before(typeBootstrap, "lab-bootstrap", apitype.OpCreate),
		{EngineEvent: apitype.EngineEvent{SummaryEvent: &apitype.SummaryEvent{ResourceChanges: map[apitype.OpType]int{apitype.OpCreate: 3}}}},
	} {
		run.Keep(event)
	}
	require.NoError(t, run.Finish(artifacts.End{Stack: "k3s-dev", Command: "up", Outcome: artifacts.Failed, Error: "no space"}, nil))

	require.JSONEq(t, `{
		"stack": "k3s-dev", "command": "up", "started": "2026-11-21T12:00:00Z", "seconds": 9, "outcome": "failed", "error": "no space",
		"changes": {"create": 3},
		"phases": [{"phase": "provision", "seconds": 3, "resources": 2}, {"phase": "bootstrap", "seconds": 0, "resources": 1}],
		"resources": [
			{"name": "cp-1-vm", "type": "`+typeVM+`", "phase": "provision", "operation": "create", "outcome": "done", "after": 3, "seconds": 2},
			{"name": "w-1-vm", "type": "`+typeVM+`", "phase": "provision", "operation": "create", "outcome": "failed", "after": 4, "seconds": 2},
			{"name": "lab-bootstrap", "type": "`+typeBootstrap+`", "phase": "bootstrap", "operation": "create", "outcome": "unfinished", "after": 7, "seconds": 0}
		]}`, read(t, run, "summary.json"))
	require.Equal(t, 8, strings.Count(read(t, run, "events.jsonl"), "\n"), "one line for each event")
}

func TestNoSecretStays(t *testing.T) {
	t.Parallel()
	token, key := rand.Text(), "-----BEGIN KEY-----\n"+rand.Text()+"\n<&>\n-----END KEY-----"
	run := begin(t, token)
	run.Keep(diagnostic("token " + token + " is refused"))
	require.NotContains(t, read(t, run, "events.jsonl"), token, "what is known is never written")
	run.Keep(diagnostic("made a key: " + key))
	require.NoError(t, run.Inventory(map[string][]byte{"cluster.yaml": []byte("token: " + token)}))
	require.NoError(t, run.MachineConfigurations(map[string]string{"cp-1": "machine: {type: worker, env: {KEY: \"" + token + "\"}}\n"}))
	require.NoError(t, run.Finish(artifacts.End{Error: "with " + key}, []string{key, "on"}))

	keyInJSON, err := json.Marshal(key)
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(run.Dir, func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		if entry.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path) //nolint:gosec // below the test's own folder
		require.NoError(t, err)
		for _, secret := range []string{token, key, strings.Trim(string(keyInJSON), `"`)} {
			require.NotContains(t, string(text), secret, path)
		}
		return nil
	}))
	require.Contains(t, read(t, run, "events.jsonl"), "token [secret] is refused")
	require.Contains(t, read(t, run, "events.jsonl"), "made a key: [secret]")
	require.Contains(t, read(t, run, "machine-configurations", "cp-1.yaml"), "KEY: '[secret]'")
	require.Contains(t, read(t, run, "summary.json"), `"seconds"`, "a word of two letters is none")
}

func TestTheOldestRunsGoFirst(t *testing.T) {
	t.Parallel()
	folder := artifacts.Folder{Dir: filepath.Join(t.TempDir(), "artifacts"), Keep: 2}
	require.NoError(t, os.MkdirAll(filepath.Join(folder.Dir, "mine"), 0o700))
	for hour := range 3 {
		_, err := folder.Begin(func() time.Time { return noon.Add(time.Duration(hour) * time.Hour) }, "up", nil)
		require.NoError(t, err)
	}
	again, err := folder.Begin(func() time.Time { return noon.Add(2 * time.Hour) }, "up", nil)
	require.NoError(t, err)
	require.Equal(t, "2026-11-21T14-00-00-up-2", filepath.Base(again.Dir))

	left, err := os.ReadDir(folder.Dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range left {
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{"2026-11-21T14-00-00-up", "2026-11-21T14-00-00-up-2", "mine"}, names)
}

func TestAPreviewPushesOutNoUp(t *testing.T) {
	t.Parallel()
	folder := artifacts.Folder{Dir: filepath.Join(t.TempDir(), "artifacts"), Keep: 1}
	for hour, command := range []string{"up", "preview", "preview"} {
		_, err := folder.Begin(func() time.Time { return noon.Add(time.Duration(hour) * time.Hour) }, command, nil)
		require.NoError(t, err)
	}
	left, err := os.ReadDir(folder.Dir)
	require.NoError(t, err)
	require.Len(t, left, 2)
	require.Equal(t, "2026-11-21T12-00-00-up", left[0].Name())
	require.Equal(t, "2026-11-21T14-00-00-preview", left[1].Name())
}

func TestABrokenStreamIsTold(t *testing.T) {
	t.Parallel()
	run := begin(t)
	run.Keep(events.EngineEvent{Error: errors.New("cut off")})
	run.Keep(diagnostic("and on"))
	require.EqualError(t, run.Finish(artifacts.End{}, nil), "write events.jsonl: cut off")
	require.Contains(t, read(t, run, "events.jsonl"), "and on")
	require.Contains(t, read(t, run, "summary.json"), `"outcome"`)
}

// TestTheFolderOfTheRunStays, even if the clock of this machine was wrong in runs before, which count as newer.
func TestTheFolderOfTheRunStays(t *testing.T) {
	t.Parallel()
	folder := artifacts.Folder{Dir: t.TempDir(), Keep: 1}
	for _, at := range []time.Time{noon.AddDate(1, 0, 0), noon} {
		run, err := folder.Begin(func() time.Time { return at }, "up", nil)
		require.NoError(t, err)
		require.DirExists(t, run.Dir)
	}
}
