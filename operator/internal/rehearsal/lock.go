package rehearsal

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrUnderWay is returned because two rehearsals of a stack would share one host.
var ErrUnderWay = errors.New("another rehearsal of this stack is under way: wait for it to end, then run again")

// Lock prevents a second rehearsal of the stack until it is closed or this process ends. It returns [ErrUnderWay] if there is one.
func Lock(path string) (*flock.Flock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(path, flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = ErrUnderWay
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}
