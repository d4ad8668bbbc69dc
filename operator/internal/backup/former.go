package backup

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/retention"
)

// FormerPassphrase ends the reason of the backups that were sealed before the passphrase of the stack was changed: they need the one
// of their time.
const FormerPassphrase = "-former-passphrase"

// NeedsFormerPassphrase reports whether the passphrase was changed after the backup was made.
func (b Backup) NeedsFormerPassphrase() bool { return strings.HasSuffix(b.Reason, FormerPassphrase) }

// MarkFormer gives the backups that a new passphrase does not open a name that says so, and returns how many there are. One that cannot be
// read, as after a power failure, is left as it is, and why is in unread. It can be repeated after a kill.
func (s Store) MarkFormer(opens func(text []byte) (bool, error)) (marked int, unread []error, err error) {
	names, err := s.names()
	if err != nil {
		return 0, nil, err
	}
	for _, name := range names {
		backup, err := s.read(name)
		if err != nil {
			return marked, unread, err
		}
		if !backup.NeedsFormerPassphrase() {
			text, err := backup.Text()
			isNew := false
			if err == nil {
				isNew, err = opensFormat(opens, text)
			}
			if err != nil {
				unread = append(unread, fmt.Errorf("%s: %w", backup.Path, err))
				continue
			}
			if isNew {
				continue
			}
			if err := s.rename(backup, name); err != nil {
				return marked, unread, err
			}
		}
		marked++
	}
	return marked, unread, nil
}

// opensFormat is opens for a backup of a newer format as well: it is sound, and was made before the passphrase was changed, since this program
// has written none of that format after it.
func opensFormat(opens func(text []byte) (bool, error), text []byte) (bool, error) {
	isNew, err := opens(text)
	if newer := new(engine.FormatError); errors.As(err, &newer) {
		return false, nil
	}
	return isNew, err
}

// rename links the backup to its new name before it removes the old one, so that a kill loses nothing and no other backup is replaced.
func (s Store) rename(backup Backup, name retention.Name) error {
	_, err := retention.Create(name.Taken, name.Kind+FormerPassphrase, func(free retention.Name) error { return os.Link(backup.Path, s.path(free)) })
	if err != nil {
		return fmt.Errorf("name a backup: %w", err)
	}
	return os.Remove(backup.Path)
}
