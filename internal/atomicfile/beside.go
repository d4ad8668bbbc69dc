package atomicfile

import (
	"errors"
	"os"
)

// WriteBeside writes like [Write], through a file beside the target that always has the same name: the next run overwrites what a killed run has left
// of it.
func WriteBeside(path string, text []byte, mode os.FileMode) error {
	beside := path + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // it is removed because it may have another mode
	}
	if err := os.WriteFile(beside, text, mode); err != nil {
		return err
	}
	return os.Rename(beside, path)
}
