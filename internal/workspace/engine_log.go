package workspace

import (
	"os"
	"path/filepath"
)

// The engine writes all that it could say at its highest verbosity into a log of its own below PULUMI_HOME, compressed and mostly
// encrypted, for `pulumi logs`: 8 MB for a preview of 31 nodes, and more than half of the engine's processor time. It has no switch,
// and works without the log where it cannot make the folder (pulumi pkg/v3 v3.254.0, cmd/pulumi/pulumi.go and logging/encrypted.go,
// StartLogging). A file in the place of the folder sees to that (decision 52).

// engineLog is what says so there.
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
