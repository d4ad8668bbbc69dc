package operator

import (
	"errors"
	"os"
)

// writeWhole writes a file that a reader finds as it was before or whole, even if the run is killed. What a killed run has left beside it
// is overwritten by the next.
func writeWhole(path string, text []byte, mode os.FileMode) error {
	beside := path + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // it may have another mode
	}
	if err := os.WriteFile(beside, text, mode); err != nil {
		return err
	}
	return os.Rename(beside, path)
}
