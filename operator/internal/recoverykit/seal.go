package recoverykit

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"filippo.io/age"
)

// File is a file that goes into a kit.
type File struct {
	// Name is its path in the kit, with slashes.
	Name string
	// Open returns its text.
	Open func() (text io.ReadCloser, bytes int64, err error)
}

// Text returns a file with a text.
func Text(name string, text []byte) File {
	return File{Name: name, Open: func() (io.ReadCloser, int64, error) {
		return io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
	}}
}

// Copy returns a file with the text of one on this machine.
func Copy(name, path string) File {
	return File{Name: name, Open: func() (io.ReadCloser, int64, error) {
		file, err := os.Open(path) //nolint:gosec // of the stack
		if err != nil {
			return nil, 0, err
		}
		info, err := file.Stat()
		if err != nil {
			return nil, 0, errors.Join(err, file.Close())
		}
		return file, info.Size(), nil
	}}
}

// seal writes the files as an encrypted tar archive.
func seal(to io.Writer, at time.Time, recipients []age.Recipient, files []File) error {
	sealing, err := age.Encrypt(to, recipients...)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(sealing)
	for _, file := range files {
		if err := add(archive, at, file); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	return errors.Join(archive.Close(), sealing.Close())
}

func add(archive *tar.Writer, at time.Time, file File) (err error) {
	text, size, err := file.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	if err := archive.WriteHeader(&tar.Header{Name: file.Name, Mode: 0o600, Size: size, ModTime: at}); err != nil {
		return err
	}
	_, err = io.Copy(archive, text)
	return err
}
