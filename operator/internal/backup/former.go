package backup

import (
	"fmt"
	"os"
	"strings"

	"github.com/em-infra/em-infra/internal/retention"
)

// FormerPassphrase ends the reason of the backups that were sealed before the passphrase of the stack was changed: they need the one
// of their time.
const FormerPassphrase = "-former-passphrase"

// NeedsFormerPassphrase reports whether the passphrase was changed after the backup was made.
func (b Backup) NeedsFormerPassphrase() bool { return strings.HasSuffix(b.Reason, FormerPassphrase) }

// MarkFormer gives the backups that a new passphrase does not open a name that says so, and returns how many there are. It can be
// repeated after a kill.
func (s Store) MarkFormer(opens func(text []byte) (bool, error)) (int, error) {
	names, err := s.names()
	if err != nil {
		return 0, err
	}
	marked := 0
	for _, name := range names {
		backup, err := s.read(name)
		if err != nil {
			return marked, err
		}
		if !backup.NeedsFormerPassphrase() {
			text, err := backup.Text()
			if err != nil {
				return marked, err
			}
			isNew, err := opens(text)
			if err != nil {
				return marked, fmt.Errorf("%s: %w", backup.Path, err)
			}
			if isNew {
				continue
			}
			if err := s.rename(backup, name); err != nil {
				return marked, err
			}
		}
		marked++
	}
	return marked, nil
}

// rename links the backup to its new name before it removes the old one, so that a kill loses nothing and no other backup is replaced.
func (s Store) rename(backup Backup, name retention.Name) error {
	_, err := retention.Create(name.Taken, name.Kind+FormerPassphrase, func(free retention.Name) error { return os.Link(backup.Path, s.path(free)) })
	if err != nil {
		return fmt.Errorf("name a backup: %w", err)
	}
	return os.Remove(backup.Path)
}
