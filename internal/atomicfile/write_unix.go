//go:build unix

package atomicfile

import (
	"io/fs"
	"path/filepath"

	"github.com/google/renameio/v2"
)

func write(path string, data []byte, mode fs.FileMode, exact bool) error {
	options := []renameio.Option{renameio.WithTempDir(filepath.Dir(path))}
	if exact {
		options = append(options, renameio.IgnoreUmask())
	}
	return renameio.WriteFile(path, data, mode, options...)
}
