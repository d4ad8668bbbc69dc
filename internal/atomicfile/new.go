package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// WriteNew creates a file that only its owner can read. It has its whole content, on the disk, when it gets its name, which only one process
// can give: of a name that is taken, the error is [io/fs.ErrExist], and the file there stays as it is.
func WriteNew(path string, text []byte) error {
	return WriteNewWith(path, func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	})
}

// WriteNewWith is like [WriteNew] for a content that write writes, which may be called again for another name,
// and so returns no error that is [io/fs.ErrExist].
func WriteNewWith(path string, write func(to io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), "new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it has its own name by then, and what is left of another one does no harm
	err = write(file)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Link(file.Name(), path)
}
