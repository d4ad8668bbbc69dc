package recoverykit

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// ErrSealed means that none of the identities opens a kit.
var ErrSealed = errors.New("it is sealed for others")

// errNoKit means that what was opened is something else.
var errNoKit = errors.New("it is no recovery kit")

// Opened is what a kit contains, without the snapshot of etcd, which may be large.
type Opened struct {
	Description

	path       string
	identities []age.Identity
	files      map[string][]byte
	names      []string
}

// largest is the largest file of a kit but for the snapshot, in bytes: a state has about 70 KiB for each node.
const largest = 256 << 20

// Open reads a kit with one of the identities. It returns [ErrSealed] if none fits. The errors quote nothing of it.
func Open(file string, identities []age.Identity) (*Opened, error) {
	opened := &Opened{path: file, identities: identities, files: map[string][]byte{}}
	if err := opened.walk(opened.keep); err != nil {
		return nil, fmt.Errorf("the recovery kit %s: %w", filepath.Base(file), err)
	}
	text, found := opened.files[DescriptionFile]
	if !found || json.Unmarshal(text, &opened.Description) != nil {
		return nil, fmt.Errorf("the recovery kit %s: %w", filepath.Base(file), errNoKit)
	}
	return opened, nil
}

func (o *Opened) keep(name string, text io.Reader) error {
	o.names = append(o.names, name)
	if path.Dir(name) == EtcdFolder && path.Ext(name) != descriptionEnding {
		return drain(text) // it may be cut off
	}
	read, err := io.ReadAll(io.LimitReader(text, largest+1))
	switch {
	case err != nil:
		return damaged(err)
	case len(read) > largest:
		return fmt.Errorf("it is larger than %d MiB: %w", largest>>20, errNoKit)
	}
	o.files[name] = read
	return nil
}

// Names returns the names of all files, in their order.
func (o *Opened) Names() []string { return o.names }

// File returns the text of a file; found is false if the kit has none of that name.
func (o *Opened) File(name string) (text []byte, found bool) {
	text, found = o.files[name]
	return text, found
}

// In returns the files of a folder by their names in it.
func (o *Opened) In(folder string) map[string][]byte {
	files := map[string][]byte{}
	for name, text := range o.files {
		if rest, isIn := strings.CutPrefix(name, folder+"/"); isIn {
			files[rest] = text
		}
	}
	return files
}

// Unpack writes files with mode 0600, and creates their folders; want returns the path of each, or "" for one that is left out.
func (o *Opened) Unpack(want func(name string) string) error {
	return o.walk(func(name string, text io.Reader) error {
		to := want(name)
		if to == "" {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		return write(to, text)
	})
}

// write writes a file that appears under its name when it is complete. What a killed run has left of it is written anew.
func write(to string, text io.Reader) error {
	unfinished := to + ".new"
	file, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // chosen by the user
	if err != nil {
		return err
	}
	_, err = io.Copy(file, text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return os.Rename(unfinished, to)
}

// walk decrypts the kit and calls each with its files. A name that leads out of the kit is refused.
func (o *Opened) walk(each func(name string, text io.Reader) error) error {
	file, err := os.Open(o.path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	clear, err := decrypt(file, o.identities)
	if err != nil {
		return err
	}
	archive := tar.NewReader(clear)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return drain(clear)
		}
		if err != nil {
			return damaged(err)
		}
		if !filepath.IsLocal(header.Name) || header.Typeflag != tar.TypeReg {
			return errNoKit
		}
		if err := each(header.Name, archive); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

// drain reads to the end, where age reports whether the file is whole.
func drain(clear io.Reader) error {
	if _, err := io.Copy(io.Discard, clear); err != nil {
		return damaged(err)
	}
	return nil
}

func damaged(err error) error { return fmt.Errorf("it is damaged or cut off: %w", err) }

func decrypt(from io.Reader, identities []age.Identity) (io.Reader, error) {
	if len(identities) == 0 {
		return nil, ErrSealed
	}
	clear, err := age.Decrypt(from, identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, ErrSealed
	}
	if err != nil {
		return nil, fmt.Errorf("it is no file of age: %w", err)
	}
	return clear, nil
}
