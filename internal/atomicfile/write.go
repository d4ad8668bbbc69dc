// Package atomicfile replaces files as a whole: a reader, and a run that is killed, find the old content or the new one.
package atomicfile

import (
	"io/fs"
	"os"
)

// Write replaces or creates a file. A mode of a new file is reduced by the umask, as [os.WriteFile] does. Windows has no such modes.
func Write(path string, data []byte, mode fs.FileMode) error { return write(path, data, mode, false) }

// Replace replaces a file that exists, and keeps its mode.
func Replace(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return write(path, data, info.Mode().Perm(), true)
}
