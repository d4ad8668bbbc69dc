package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	ageidentity "filippo.io/age"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// rejectedSuffix ends the name of the file that keeps an edit that was not valid.
const rejectedSuffix = ".rejected"

// Rejected returns the path of an edit that was not valid and is kept, encrypted; empty if there is none.
func (d *Document) Rejected() (string, error) {
	path := d.path + rejectedSuffix
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return path, err
}

// KeepRejected keeps a text that is not valid, encrypted with age for the user's own keys, and returns its path.
func (d *Document) KeepRejected(text []byte) (string, error) {
	var recipients []ageidentity.Recipient
	for _, key := range d.mine {
		if native, is := key.Identity.(*ageidentity.X25519Identity); is {
			recipients = append(recipients, native.Recipient())
		}
	}
	var sealed bytes.Buffer
	writer, err := ageidentity.Encrypt(&sealed, recipients...)
	if err != nil {
		return "", err
	}
	if _, err := writer.Write(text); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	path := d.path + rejectedSuffix
	return path, atomicfile.Write(path, sealed.Bytes(), fileMode)
}

// ReadRejected returns the text that [Document.KeepRejected] has kept.
func (d *Document) ReadRejected() ([]byte, error) {
	path := d.path + rejectedSuffix
	sealed, err := os.ReadFile(path) //nolint:gosec // beside the inventory
	if err != nil {
		return nil, err
	}
	own := make([]ageidentity.Identity, len(d.mine))
	for i, key := range d.mine {
		own[i] = key.Identity
	}
	reader, err := ageidentity.Decrypt(bytes.NewReader(sealed), own...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: use the key of the user who made it, or delete the file", path, ErrWrongKey)
	}
	return io.ReadAll(reader)
}

// DropRejected removes the file of a rejected edit, if there is one.
func (d *Document) DropRejected() error {
	if err := os.Remove(d.path + rejectedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
