package etcdsnapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/em-infra/em-infra/internal/retention"
)

// ErrNone means that a stack has no snapshot.
var ErrNone = errors.New("there is no snapshot")

// List returns the snapshots, newest first. Other files in the folder are left alone. A snapshot without a description, which a
// run that was killed leaves behind, has its name and time alone.
func (s Store) List() ([]Snapshot, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var all []Snapshot
	for _, name := range names {
		snapshot, err := s.read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, snapshot)
	}
	return all, nil
}

// Find returns the snapshot with that name, or the newest if the name is empty. It returns [ErrNone] if there is no snapshot at all.
func (s Store) Find(name string) (Snapshot, error) {
	names, err := s.names()
	switch {
	case err != nil:
		return Snapshot{}, err
	case len(names) == 0:
		return Snapshot{}, ErrNone
	case name == "":
		return s.read(names[0])
	}
	index := slices.IndexFunc(names, func(n retention.Name) bool { return n.String() == name })
	if index < 0 {
		return Snapshot{}, fmt.Errorf("there is no snapshot %q: choose one that `em-infra etcd list` shows", name)
	}
	return s.read(names[index])
}

// Prune deletes the snapshots that the rule does not keep, with their descriptions, and returns their names, newest first. A spared snapshot stays,
// and so does the one that an unfinished restore uses. If it is not known which one that is, all stay.
func (s Store) Prune() (deleted []string, err error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	inUse, known := s.inUse()
	if !known {
		return nil, nil
	}
	for _, name := range s.Keep.Excess(names) {
		if name.String() == inUse || slices.Contains(s.Spared, name.String()) {
			continue
		}
		if err := errors.Join(os.Remove(s.path(name)), removeIfThere(s.description(name))); err != nil {
			return deleted, fmt.Errorf("delete old snapshots: %w", err)
		}
		deleted = append(deleted, name.String())
	}
	return deleted, nil
}

// RestoreNote is the file beside the snapshots in which a restore of etcd that has begun and not ended names its snapshot.
const RestoreNote = "restore.json"

// inUse returns the name of the snapshot of a restore that has begun; empty for none. It is not known if the note cannot be read.
func (s Store) inUse() (name string, known bool) {
	text, err := os.ReadFile(filepath.Join(s.Dir, RestoreNote))
	if errors.Is(err, os.ErrNotExist) {
		return "", true
	}
	var note struct {
		Snapshot string `json:"snapshot"`
	}
	if err == nil {
		err = json.Unmarshal(text, &note)
	}
	return note.Snapshot, err == nil
}

// read returns the description of a snapshot.
func (s Store) read(name retention.Name) (Snapshot, error) {
	var snapshot Snapshot
	text, err := os.ReadFile(s.description(name))
	if err == nil {
		err = json.Unmarshal(text, &snapshot)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Snapshot{}, fmt.Errorf("description of the snapshot %s: %w: delete the file %s, the snapshot itself is not affected", name, err, s.description(name))
	}
	snapshot.Name, snapshot.Taken, snapshot.Reason, snapshot.Path = name.String(), name.Taken, name.Kind, s.path(name)
	return snapshot, nil
}

// names returns the names of the snapshots, newest first.
func (s Store) names() ([]retention.Name, error) {
	names, err := retention.InFolder(s.Dir, sealedEnding)
	if err != nil {
		return nil, fmt.Errorf("folder of the snapshots: %w", err)
	}
	return names, nil
}

func removeIfThere(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
