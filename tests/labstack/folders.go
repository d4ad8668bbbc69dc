package labstack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The folders of labs are in the checkout, where Go gives the result of a test again only if nothing has changed that the test has looked at
// (cmd/go/internal/test, computeTestInputsID). [os.MkdirAll] and [os.RemoveAll] look at the folder above, which each lab changes.

// MakeFolder makes a folder and those above it, and looks at none. One that exists is no error.
func MakeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := MakeFolder(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// RemoveFolder removes a folder with all that is in it, and does not look at the one above it. One that does not exist is no error.
func RemoveFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return os.Remove(dir)
}
