package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// write moves a complete file into place: MoveFileEx replaces the old one in one step on NTFS (os.Rename).
func write(path string, data []byte, _ fs.FileMode, _ bool) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
