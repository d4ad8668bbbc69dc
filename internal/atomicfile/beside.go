package atomicfile

import (
	"errors"
	"os"
)

// WriteBeside writes like [Write], and by way of a file beside it whose name is the same each time: what a killed run has left of that
// is overwritten by the next.
func WriteBeside(path string, text []byte, mode os.FileMode) error {
	beside := path + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // it may have another mode
	}
	if err := os.WriteFile(beside, text, mode); err != nil {
		return err
	}
	return os.Rename(beside, path)
}
