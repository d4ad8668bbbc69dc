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
	if err := writeSynced(beside, text, mode); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

// writeSynced creates a file whose content is on the disk when it returns: without that, a power cut after the rename can leave an empty file.
func writeSynced(path string, text []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}
