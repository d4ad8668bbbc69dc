// Package diskspace returns how much space a disk has, on every system.
package diskspace

import (
	"errors"
	"os"
	"path/filepath"
)

// Free returns the space on the disk of a folder that an ordinary user may still use, in bytes. The folder need not exist.
func Free(dir string) (int64, error) { return free(existing(dir)) }

// Disk returns what identifies the file system of a folder on this machine. The folder need not exist.
func Disk(dir string) (string, error) { return disk(existing(dir)) }

// IsUsedUp reports whether an error means that a disk is full.
func IsUsedUp(err error) bool { return errors.Is(err, errUsedUp) }

// UsedUp is the system's text for a disk that is full, as other programs print it.
var UsedUp = errUsedUp.Error()

// existing returns the folder itself, or the nearest parent that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
