// Package repositorytest finds files of the repository for tests. It begins in the folder that `go test` started the test in, since
// the suite is built with -trimpath: runtime.Caller then knows import paths, and no folders.
package repositorytest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Tests may change the folder afterwards.
var started, errStarted = os.Getwd()

// Path returns the path of a file or folder, whose name is from the top of the test's module. It fails if no folder above the test
// has a go.mod.
func Path(name string) (string, error) {
	if errStarted != nil {
		return "", fmt.Errorf("the folder of this test: %w", errStarted)
	}
	for folder := started; ; folder = filepath.Dir(folder) {
		_, err := os.Stat(filepath.Join(folder, "go.mod"))
		if err == nil {
			return filepath.Join(folder, name), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("no folder above %s has a go.mod", started)
		}
	}
}
