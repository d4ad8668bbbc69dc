//go:build unix

package etcdsnapshot

import (
	"os"
	"syscall"
)

// forget removes the name of an open file, so that a run that is killed leaves no snapshot in clear behind.
func forget(file *os.File) error { return os.Remove(file.Name()) }

// duplicate returns the same file a second time.
func duplicate(file *os.File) (*os.File, error) {
	number, err := syscall.Dup(int(file.Fd())) //nolint:gosec // a descriptor
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(number), file.Name()), nil //nolint:gosec // a descriptor
}

// drop is called when the file is closed: its name is gone already.
func drop(*os.File) error { return nil }
