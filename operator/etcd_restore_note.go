package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// restoreNote is how far a restore of etcd got, so that the next run goes on from there.
type restoreNote struct {
	// Snapshot is its name.
	Snapshot string `json:"snapshot"`
	// On is the control plane on which etcd starts from the snapshot.
	On string `json:"on"`
	// Begun is when.
	Begun time.Time `json:"begun"`
	// Replaces is whether the machine of the only control plane is replaced: data on the machine from before is left alone.
	Replaces bool `json:"replaces,omitempty"`
	// Former is the name that the control plane had, if its machine is replaced under another one: its Node is in the snapshot.
	Former string `json:"former,omitempty"`
	// Emptied is whether the control planes were emptied: data that they have now is that of the snapshot.
	Emptied bool `json:"emptied,omitempty"`
}

// restoreNotes is the file of the note, beside the snapshots.
type restoreNotes struct{ path string }

func (o *Operator) restoreNotes() restoreNotes {
	return restoreNotes{path: filepath.Join(o.workspace.Snapshots(), "restore.json")}
}

// of returns the note of a restore that did not end in the cluster with these credentials; nil for none. If there are none, that cluster
// was destroyed, and the note is forgotten.
func (n restoreNotes) of(talosconfig []byte) (*restoreNote, error) {
	if talosconfig == nil {
		return nil, n.end()
	}
	return n.read()
}

// read returns the note of a restore that did not end; nil for none.
func (n restoreNotes) read() (*restoreNote, error) {
	text, err := os.ReadFile(n.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var note restoreNote
	if err == nil {
		err = json.Unmarshal(text, &note)
	}
	if err != nil {
		return nil, fmt.Errorf("the note of a restore of etcd that did not end: %w: delete the file, then run `em-infra etcd restore` again", err)
	}
	return &note, nil
}

func (n restoreNotes) write(note restoreNote) error {
	text, err := json.MarshalIndent(note, "", "  ")
	if err == nil {
		err = atomicfile.Write(n.path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("note the restore of etcd: %w", err)
	}
	return nil
}

// end removes the note of a restore that is done.
func (n restoreNotes) end() error {
	if err := os.Remove(n.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("end the restore of etcd: %w", err)
	}
	return nil
}
