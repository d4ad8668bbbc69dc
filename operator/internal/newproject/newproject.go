// Package newproject has the files of a project, so that em-infra works in a folder that is no clone of its repository.
package newproject

import (
	"embed"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// embedded are the files of a project: those of this repository, copied, because a package cannot embed what lies above it.
//
//go:embed all:files
var embedded embed.FS

// folder is that of the embedded files.
const folder = "files"

// ignored is the name of .gitignore among the embedded files, since git would follow that in this folder, too.
const ignored = "gitignore"

// Files are texts of new files by their paths in a folder, which are separated by slashes.
type Files map[string][]byte

// Example returns a project with the sample stacks of this repository.
func Example() (Files, error) { return project(func(string) bool { return true }) }

// Bare returns a project without a stack.
func Bare() (Files, error) {
	return project(func(path string) bool {
		isStackFile, err := filepath.Match("Pulumi.*.yaml", path)
		return err == nil && !isStackFile && !strings.HasPrefix(path, "stacks/")
	})
}

func project(wanted func(path string) bool) (Files, error) {
	files := Files{".state/.gitkeep": nil}
	err := fs.WalkDir(embedded, folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, folder+"/")
		if name == ignored {
			name = ".gitignore"
		}
		if wanted(name) {
			files[name], err = embedded.ReadFile(path)
		}
		return err
	})
	return files, err
}

// Paths returns the paths of the files, sorted.
func (f Files) Paths() []string { return slices.Sorted(maps.Keys(f)) }

// There returns the paths of the files that exist in a folder, sorted.
func (f Files) There(dir string) []string {
	return slices.DeleteFunc(f.Paths(), func(path string) bool {
		_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path)))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// Write writes the files into a folder, none of which may exist: the error is then [fs.ErrExist]. If one cannot be written, those that were
// are removed.
func (f Files) Write(dir string) error {
	var written []string
	for _, name := range f.Paths() {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := writeNew(path, f[name]); err != nil {
			for _, one := range written {
				err = errors.Join(err, os.Remove(one))
			}
			return err
		}
		written = append(written, path)
	}
	return nil
}

// writeNew writes a file that does not exist. Nothing of a project is secret.
func writeNew(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // as above
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
