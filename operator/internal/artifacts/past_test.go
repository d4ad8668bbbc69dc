package artifacts_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/artifacts"
)

// TestWhatWaitedForWhat: a creation waits for what it depends on, a deletion for what depends on it, and the second part of a replacement
// for the first one.
func TestWhatWaitedForWhat(t *testing.T) {
	t.Parallel()
	run := begin(t)
	run.Keep(before(typeSecrets, "secrets", apitype.OpCreate))
	run.Keep(before(typeVM, "cp-1-vm", apitype.OpCreate))
	run.Keep(after(typeSecrets, "secrets", apitype.OpCreate))
	run.Keep(after(typeVM, "cp-1-vm", apitype.OpCreate))
	run.Keep(before(typeBootstrap, "bootstrap", apitype.OpCreate))
	run.Keep(before(typeVM, "w-1-vm", apitype.OpDelete))
	run.Keep(after(typeVM, "w-1-vm", apitype.OpDelete))
	run.Keep(before(typeSecrets, "pool", apitype.OpDelete))
	run.Keep(before(typeVM, "w-2-vm", apitype.OpDeleteReplaced))
	run.Keep(after(typeVM, "w-2-vm", apitype.OpDeleteReplaced))
	run.Keep(before(typeVM, "w-2-vm", apitype.OpCreateReplacement))
	require.NoError(t, run.Finish(artifacts.End{Command: "up", Dependencies: map[resource.URN][]resource.URN{
		urn(typeBootstrap, "bootstrap"): {urn(typeSecrets, "secrets"), urn(typeVM, "cp-1-vm"), urn(typeVM, "other")},
		urn(typeVM, "w-1-vm"):           {urn(typeSecrets, "pool")},
		urn(typeVM, "w-2-vm"):           {urn(typeBootstrap, "bootstrap")},
	}}, nil))
	past, err := artifacts.Folder{Dir: filepath.Dir(run.Dir)}.Run(filepath.Base(run.Dir))
	require.NoError(t, err)
	waits := map[string]string{}
	for _, r := range past.Summary.Resources {
		if r.WaitedFor != nil {
			waits[string(r.Operation)+" "+r.Name] = r.WaitedFor.Name + " " + r.WaitedFor.Type
		}
	}
	require.Equal(t, map[string]string{
		"create bootstrap":          "cp-1-vm " + typeVM,
		"delete pool":               "w-1-vm " + typeVM,
		"create-replacement w-2-vm": "w-2-vm " + typeVM,
	}, waits)
}

func TestRuns(t *testing.T) {
	t.Parallel()
	folder := artifacts.Folder{Dir: filepath.Join(t.TempDir(), "artifacts")}
	runs, err := folder.Runs()
	require.NoError(t, err)
	require.Empty(t, runs)

	for hour, command := range []string{"preview", "up", "up"} {
		run, err := folder.Begin(func() time.Time { return noon.Add(time.Duration(hour) * time.Hour) }, command, nil)
		require.NoError(t, err)
		if hour == 1 {
			require.NoError(t, run.Finish(artifacts.End{Command: command, Outcome: artifacts.Succeeded}, nil))
		}
	}
	require.NoError(t, os.MkdirAll(filepath.Join(folder.Dir, "mine"), 0o700))
	runs, err = folder.Runs()
	require.NoError(t, err)
	var seen []string
	for _, run := range runs {
		end := "killed"
		if run.Summary != nil {
			end = string(run.Summary.Outcome)
		}
		seen = append(seen, run.Name.String()+" "+end)
	}
	require.Equal(t, []string{"2026-11-21T14-00-00-up killed", "2026-11-21T13-00-00-up succeeded", "2026-11-21T12-00-00-preview killed"}, seen)

	for _, name := range []string{"mine", "../artifacts", "2026-11-21T15-00-00-up"} {
		_, err := folder.Run(name)
		require.ErrorIs(t, err, artifacts.ErrNoRun, name)
	}
	broken := filepath.Join(folder.Dir, "2026-11-21T14-00-00-up", "summary.json")
	require.NoError(t, os.WriteFile(broken, []byte("{"), 0o600))
	_, err = folder.Runs()
	require.EqualError(t, err, broken+": unexpected end of JSON input: delete the folder, it is read by people only")
}
