package workspace

import (
	"os"
	"path/filepath"
)

// The engine writes everything at its highest verbosity into a log of its own below PULUMI_HOME, compressed and mostly encrypted, for `pulumi logs`:
// 8 MB for a preview of 31 nodes, and more than half of the engine's processor time. The log cannot be switched off, but the engine works without it
// where it cannot make the folder (pulumi pkg/v3 v3.254.0, cmd/pulumi/pulumi.go and logging/encrypted.go, StartLogging). So em-infra puts a file in
// the place of the folder (decision 52).

// engineLog is the text of that file.
const engineLog = `The engine keeps no log of its own here: it would cost more time than its work.
What em-infra's runs did is among the artifacts. For a log, run pulumi with --logtostderr -v=9 in the shell of em-infra tools env.
`

// refuseEngineLog puts the file there, in the place of the logs of former runs, which the engine would delete after a week.
func (w *Workspace) refuseEngineLog() error {
	logs := filepath.Join(w.Home, "logs")
	if about, err := os.Lstat(logs); err == nil && about.IsDir() {
		if err := os.RemoveAll(logs); err != nil {
			return err
		}
	}
	return writeOnce(logs, engineLog)
}
