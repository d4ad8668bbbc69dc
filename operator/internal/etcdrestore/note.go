package etcdrestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// Note is how far a restore of etcd got, so that the next run goes on from there.
type Note struct {
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
	// Ordered are the control planes that were ordered to delete their data of etcd, or are about to be: one that does not answer reboots.
	Ordered []string `json:"ordered,omitempty"`
	// Emptied is whether the control planes were emptied: data that they have now is that of the snapshot.
	Emptied bool `json:"emptied,omitempty"`
}

// Notes is the file of the note, beside the snapshots.
type Notes struct {
	// Path of the file.
	Path string
}

// Of returns the note of a restore that did not end in the cluster with these credentials; nil for none. If there are none, that cluster
// was destroyed, and the note is forgotten.
func (n Notes) Of(talosconfig []byte) (*Note, error) {
	if talosconfig == nil {
		return nil, n.End()
	}
	return n.read()
}

// read returns the note of a restore that did not end; nil for none.
func (n Notes) read() (*Note, error) {
	text, err := os.ReadFile(n.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var note Note
	if err == nil {
		err = json.Unmarshal(text, &note)
	}
	if err != nil {
		return nil, fmt.Errorf("the note of a restore of etcd that did not end: %w: delete the file, then run `em-infra etcd restore` again", err)
	}
	return &note, nil
}

// Write replaces the note.
func (n Notes) Write(note Note) error {
	text, err := json.MarshalIndent(note, "", "  ")
	if err == nil {
		err = atomicfile.Write(n.Path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("note the restore of etcd: %w", err)
	}
	return nil
}

// End removes the note of a restore that is done.
func (n Notes) End() error {
	if err := os.Remove(n.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("end the restore of etcd: %w", err)
	}
	return nil
}
