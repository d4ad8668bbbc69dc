package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/executabletest"
)

// outcome is how a command ended.
type outcome struct {
	out, err string
	code     int
}

// em runs a command of the tool without a terminal.
func em(ctx context.Context, args ...string) outcome {
	var out, errs bytes.Buffer
	code := run(ctx, streams{in: strings.NewReader(""), out: &out, err: &errs}, args)
	if err := undocumented(args, out.String()); err != nil {
		panic(err)
	}
	return outcome{out: out.String(), err: errs.String(), code: code}
}

// refusal returns the outcome of a command that printed one sentence and touched nothing.
func refusal(sentence string) outcome { return outcome{err: sentence + "\n", code: exitRefused} }

// project changes into a project with a valid inventory and no secrets, in a folder whose name needs quotes in a shell. The
// pulumi on its PATH does not work.
func project(t *testing.T) (root string) {
	t.Helper()
	bin := t.TempDir()
	executabletest.Script(t, filepath.Join(bin, "pulumi"), "exit 1\n")
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	root = filepath.Join(t.TempDir(), "it's $HOME; here")
	for path, text := range map[string]string{
		"Pulumi.yaml":                 "name: em-infra\nruntime: go\n",
		"stacks/k3s-dev/cluster.yaml": soundCluster,
		"stacks/k3s-dev/nodes.yaml":   soundNodes,
	} {
		writeFile(t, filepath.Join(root, path), text)
	}
	t.Chdir(root)
	for _, name := range []string{"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"} {
		t.Setenv(name, "") // puts back what was set
		require.NoError(t, os.Unsetenv(name))
	}
	return root
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// stoppedLab makes a lab of k3s-dev that does not run.
func stoppedLab(t *testing.T, root string) {
	t.Helper()
	writeFile(t, filepath.Join(root, ".lab/k3s-dev/lab.json"), `{"stack": "k3s-dev", "host": "vmhost", "network": "127.20.20.0/24",
		"proxmox": "127.0.0.1:18006", "factory": "127.0.0.1:18007", "token": "em-infra@pve!rehearsal=madeup", "timeScale": 0.1}`)
}

// files lists what is in a folder, so that a test sees that nothing was touched.
func files(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		found = append(found, path)
		return err
	}))
	return found
}
