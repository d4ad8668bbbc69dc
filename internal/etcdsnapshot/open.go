package etcdsnapshot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// ErrSealed means that none of the identities opens a snapshot.
var ErrSealed = errors.New("it is sealed for others")

// Open opens a snapshot with one of the identities and checks it as [Store.Save] did, and against its description. The caller closes
// it; in clear it has no name in the file system. It returns [ErrSealed] if no identity fits.
func (s Store) Open(snapshot Snapshot, identities []age.Identity) (*Opened, error) {
	clear, err := s.temporary()
	if err != nil {
		return nil, err
	}
	opened := &Opened{file: clear}
	if err := opened.read(snapshot, identities); err != nil {
		return nil, errors.Join(fmt.Errorf("the snapshot %s: %w", snapshot.Name, err), opened.Close())
	}
	return opened, nil
}

// Opened is a snapshot in clear: all secrets of the cluster are in it.
type Opened struct {
	Contents

	file *os.File
}

// Reader returns the snapshot from its beginning, as etcd has sent it, with the checksum at its end.
func (o *Opened) Reader() (io.Reader, error) {
	_, err := o.file.Seek(0, io.SeekStart)
	return o.file, err
}

// Close deletes the snapshot in clear.
func (o *Opened) Close() error { return errors.Join(o.file.Close(), drop(o.file)) }

func (o *Opened) read(snapshot Snapshot, identities []age.Identity) error {
	sealed, err := os.Open(snapshot.Path)
	if err != nil {
		return err
	}
	defer sealed.Close() //nolint:errcheck // only read
	if err := decrypt(o.file, sealed, identities); err != nil {
		return err
	}
	if o.Contents, err = inspect(o.file); err != nil {
		return err
	}
	if described := snapshot.Contents; described != (Contents{}) && described != o.Contents {
		return fmt.Errorf("it has revision %d and checksum %.12s…, and its description says %d and %.12s…: the file was exchanged, do not use it",
			o.Revision, o.SHA256, described.Revision, described.SHA256)
	}
	return nil
}

func decrypt(to io.Writer, from io.Reader, identities []age.Identity) error {
	if len(identities) == 0 {
		return ErrSealed
	}
	clear, err := age.Decrypt(from, identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return ErrSealed
	}
	if err != nil {
		return fmt.Errorf("it is no file of age: %w", err)
	}
	if err := unpack(to, bufio.NewReader(clear)); err != nil {
		return fmt.Errorf("it is damaged or cut off: %w", err)
	}
	return nil
}

// packed are the first bytes of data that zstd has compressed (RFC 8878, 3.1.1). A database of etcd begins with the number 0 of its first page.
var packed = []byte{0x28, 0xb5, 0x2f, 0xfd}

// unpack copies a snapshot, and decompresses one that talos-backup has compressed before it has sealed it.
func unpack(to io.Writer, from *bufio.Reader) error {
	begin, err := from.Peek(len(packed))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(begin, packed) {
		_, err := io.Copy(to, from)
		return err
	}
	unpacked, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	_, err = io.Copy(to, unpacked)
	return err
}
