package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// WriteNew creates a file that only its owner can read. The file gets its name only when its whole content is on the disk. Only one process can give
// the name: if it is taken, the error is [io/fs.ErrExist], and the existing file stays as it is.
func WriteNew(path string, text []byte) error {
	return WriteNewWith(path, func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	})
}

// WriteNewWith is like [WriteNew] for a content that write writes. write may be called again for another name, so it must return no error that is
// [io/fs.ErrExist].
func WriteNewWith(path string, write func(to io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), "new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the content has its own name by then, and a temporary file that stays does no harm
	err = write(file)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Link(file.Name(), path)
}
