package backup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/operator/internal/retention"
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
	// Path of the file.
	Path string `json:"path"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`

	turn int // number among the backups of the same second
}

// ErrNone means that a stack has no backup.
var ErrNone = errors.New("there is no backup")

const (
	ending     = ".json"
	timeFormat = "2006-01-02T15-04-05"
)

// form matches the name of a backup. Times are in UTC, so that names sort by time.
var form = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-([a-z-]*[a-z])(?:-(\d+))?$`)

// Save stores the text of a state, and deletes the oldest backups of each reason beyond the limit. If the newest backup has the
// same text, nothing is stored and that backup is returned.
func (s Store) Save(at time.Time, reason string, text []byte) (Backup, error) {
	if newest, err := s.Find(""); err == nil {
		if kept, err := newest.Text(); err == nil && bytes.Equal(kept, text) {
			return newest, nil
		}
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Backup{}, fmt.Errorf("folder of the backups: %w", err)
	}
	file, err := s.write(text)
	if err != nil {
		return Backup{}, fmt.Errorf("write a backup: %w", err)
	}
	defer os.Remove(file) //nolint:errcheck // it has its own name by then
	name, err := s.publish(file, at.UTC().Format(timeFormat)+"-"+reason)
	if err != nil {
		return Backup{}, fmt.Errorf("write a backup: %w", err)
	}
	saved, err := s.read(name)
	if err != nil {
		return Backup{}, err
	}
	return saved, s.prune()
}

// write writes the text to a temporary file, whose name is not a backup's.
func (s Store) write(text []byte) (string, error) {
	file, err := os.CreateTemp(s.Dir, "new-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// publish links a file under its name, followed by a number if a backup of the same second has that name.
func (s Store) publish(file, name string) (string, error) {
	for turn := 1; ; turn++ {
		candidate := name
		if turn > 1 {
			candidate += "-" + strconv.Itoa(turn)
		}
		err := os.Link(file, s.path(candidate))
		if !errors.Is(err, os.ErrExist) {
			return candidate, err
		}
	}
}

// List returns the backups, newest first. Other files in the folder are left alone.
func (s Store) List() ([]Backup, error) {
	files, err := os.ReadDir(s.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("folder of the backups: %w", err)
	}
	var backups []Backup
	for _, file := range files {
		name, isBackup := strings.CutSuffix(file.Name(), ending)
		if !isBackup || !form.MatchString(name) {
			continue
		}
		backup, err := s.read(name)
		if err != nil {
			return nil, err
		}
		backups = append(backups, backup)
	}
	slices.SortFunc(backups, newestFirst)
	return backups, nil
}

func newestFirst(a, b Backup) int {
	if order := b.Taken.Compare(a.Taken); order != 0 {
		return order
	}
	return b.turn - a.turn
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
		return Backup{}, fmt.Errorf("there is no backup %q: choose one that `em-infra state list` shows", name)
	}
	return backups[index], nil
}

// Text returns the text of the state in the backup.
func (b Backup) Text() ([]byte, error) { return os.ReadFile(b.Path) }

func (s Store) path(name string) string { return filepath.Join(s.Dir, name+ending) }

func (s Store) read(name string) (Backup, error) {
	info, err := os.Stat(s.path(name))
	if err != nil {
		return Backup{}, err
	}
	parts := form.FindStringSubmatch(name)
	taken, err := time.Parse(timeFormat, parts[1])
	if err != nil {
		return Backup{}, fmt.Errorf("%s: %w: remove the file or give it its old name", s.path(name), err)
	}
	backup := Backup{Name: name, Taken: taken, Reason: parts[2], Path: s.path(name), Bytes: info.Size()}
	if parts[3] != "" {
		backup.turn, err = strconv.Atoi(parts[3])
	}
	return backup, err
}

func (s Store) prune() error {
	backups, err := s.List()
	if err != nil {
		return err
	}
	for _, old := range retention.Excess(backups, func(b Backup) string { return b.Reason }, s.Keep) {
		if err := os.Remove(old.Path); err != nil {
			return fmt.Errorf("forget an old backup: %w", err)
		}
	}
	return nil
}
