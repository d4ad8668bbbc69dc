package backup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/retention"
)

// Store is the folder of a stack's backups.
type Store struct {
	// Dir is the folder. The first backup creates it.
	Dir string
	// Keep is the number of backups of each reason to keep; the oldest are deleted first. Default: [retention.Default].
	Keep int
}

// Backup is a copy of a state.
type Backup struct {
	// Name of the backup: its time and its reason.
	Name string `json:"name"`
	// Taken is when, to the second.
	Taken time.Time `json:"taken"`
	// Reason of the backup, e.g. before-up.
	Reason string `json:"reason"`
	// Path of the file; empty if it is in a bucket alone.
	Path string `json:"path,omitempty"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
}

// BeforeRestore is the reason of the backup of a state that a restore replaces. It is then the newest backup, but its content was wrong.
const BeforeRestore = "before-restore"

// IsReplaced reports whether it is of a state that a restore was to replace.
func (b Backup) IsReplaced() bool {
	return strings.TrimSuffix(b.Reason, FormerPassphrase) == BeforeRestore
}

// ErrNone means that a stack has no backup.
var ErrNone = errors.New("there is no backup")

const ending = ".json"

// Save stores the text of a state, and deletes the oldest backups of each reason beyond the limit. If the newest backup has the
// same text, nothing is stored and that backup is returned, unless it is of a state that was to be replaced and is there again.
func (s Store) Save(at time.Time, reason string, text []byte) (Backup, error) {
	if newest, err := s.Find(""); err == nil && (reason == BeforeRestore || !newest.IsReplaced()) {
		if kept, err := newest.Text(); err == nil && bytes.Equal(kept, text) {
			return newest, nil
		}
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Backup{}, fmt.Errorf("folder of the backups: %w", err)
	}
	name, err := retention.Create(at, reason, func(name retention.Name) error { return atomicfile.WriteNew(s.path(name), text) })
	if err != nil {
		return Backup{}, fmt.Errorf("write a backup: %w", err)
	}
	saved, err := s.read(name)
	if err != nil {
		return Backup{}, err
	}
	return saved, s.prune(saved.Name)
}

// List returns the backups, newest first. Other files in the folder are left alone.
func (s Store) List() ([]Backup, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var backups []Backup
	for _, name := range names {
		backup, err := s.read(name)
		if err != nil {
			return nil, err
		}
		backups = append(backups, backup)
	}
	return backups, nil
}

// names returns the names of the backups, newest first.
func (s Store) names() ([]retention.Name, error) {
	names, err := retention.InFolder(s.Dir, ending)
	if err != nil {
		return nil, fmt.Errorf("folder of the backups: %w", err)
	}
	return names, nil
}

// Find returns the backup with that name, or the newest if the name is empty. It returns [ErrNone] if there is no backup at all.
func (s Store) Find(name string) (Backup, error) {
	backups, err := s.List()
	switch {
	case err != nil:
		return Backup{}, err
	case len(backups) == 0:
		return Backup{}, ErrNone
	case name == "":
		return backups[0], nil
	}
	index := slices.IndexFunc(backups, func(b Backup) bool { return b.Name == name })
	if index < 0 {
		return Backup{}, Unknown(name)
	}
	return backups[index], nil
}

// Unknown returns the error of a name that no backup has.
func Unknown(name string) error {
	return fmt.Errorf("there is no backup %q: choose one that `em-infra state list` shows", name)
}

// Text returns the text of the state in the backup.
func (b Backup) Text() ([]byte, error) { return os.ReadFile(b.Path) }

func (s Store) path(name retention.Name) string { return filepath.Join(s.Dir, name.String()+ending) }

func (s Store) read(name retention.Name) (Backup, error) {
	info, err := os.Stat(s.path(name))
	if err != nil {
		return Backup{}, err
	}
	return Backup{Name: name.String(), Taken: name.Taken, Reason: name.Kind, Path: s.path(name), Bytes: info.Size()}, nil
}

// prune deletes the oldest backups of each reason, but not the one that was just made: it is not the newest if the clock was wrong when others
// were made.
func (s Store) prune(made string) error {
	backups, err := s.List()
	if err != nil {
		return err
	}
	for _, old := range retention.Excess(backups, func(b Backup) string { return b.Reason }, s.Keep) {
		if old.Name == made {
			continue
		}
		if err := os.Remove(old.Path); err != nil {
			return fmt.Errorf("forget an old backup: %w", err)
		}
	}
	return nil
}
