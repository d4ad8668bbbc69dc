package recovery

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/object"
)

// objects is a folder below a state, in a bucket or on this machine. Its errors are those of [bucket.Bucket].
type objects interface {
	List(ctx context.Context) ([]object.Object, error)
	Read(ctx context.Context, key string) ([]byte, error)
	Write(ctx context.Context, key string, text []byte) error
	WriteNew(ctx context.Context, key string, text []byte) error
	Delete(ctx context.Context, key string) error
	Close() error
	String() string
}

// folderObjects are the files of a folder. With the library's own folders, two processes that write at once can both meet the condition of the
// write (gocloud.dev v0.46.0, blob/fileblob, writer.Close).
type folderObjects string

func (f folderObjects) path(key string) string {
	return filepath.Join(string(f), filepath.FromSlash(key))
}

// String implements [objects].
func (f folderObjects) String() string { return string(f) }

// Close implements [objects].
func (folderObjects) Close() error { return nil }

// List implements [objects].
func (f folderObjects) List(context.Context) ([]object.Object, error) {
	files, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []object.Object
	for _, file := range files {
		all = append(all, object.Object{Key: file.Name()})
	}
	return all, err
}

// Read implements [objects].
func (f folderObjects) Read(_ context.Context, key string) ([]byte, error) {
	text, err := os.ReadFile(f.path(key)) //nolint:gosec // below the state's folder
	return text, asObject(err)
}

// Write implements [objects].
func (f folderObjects) Write(_ context.Context, key string, text []byte) error {
	return atomicfile.Write(f.path(key), text, 0o600)
}

// WriteNew implements [objects].
func (f folderObjects) WriteNew(_ context.Context, key string, text []byte) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	if err := atomicfile.WriteNew(f.path(key), text); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return bucket.ErrExists
}

// Delete implements [objects].
func (f folderObjects) Delete(_ context.Context, key string) error {
	return asObject(os.Remove(f.path(key)))
}

func asObject(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return object.ErrNotFound
	}
	return err
}

// folder returns the folder of the state on this machine; empty if it is elsewhere, or does not exist.
func (p Place) folder() string {
	folder, isFile := strings.CutPrefix(p.Backend, fileScheme)
	if _, err := os.Stat(folder); !isFile || err != nil {
		return ""
	}
	return folder
}

// isClaimed reports whether runs claim the state: in a bucket of S3, and in a folder of this machine that exists.
func (p Place) isClaimed() bool { return p.inBucket() || p.folder() != "" }
