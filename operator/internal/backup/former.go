package backup

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/retention"
)

// FormerPassphrase is the suffix of the reason of backups that were sealed before the passphrase of the stack was changed: they can only be opened
// with the passphrase of their time.
const FormerPassphrase = "-former-passphrase"

// NeedsFormerPassphrase reports whether the passphrase was changed after the backup was made.
func (b Backup) NeedsFormerPassphrase() bool { return strings.HasSuffix(b.Reason, FormerPassphrase) }

// MarkFormer renames the backups that a new passphrase does not open, so that their names show it, and returns how many there are. One that cannot
// be read, e.g. after a power failure, keeps its name, and unread contains the reason. It can be repeated after a kill.
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

// opensFormat calls opens, and treats a backup of a newer format as one that the passphrase does not open: it is sound, and was made before the
// passphrase was changed, since this program has written none of that format after it.
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
