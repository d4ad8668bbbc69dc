package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
)

// Folder is the folder of an inventory that does not exist yet.
type Folder struct{ Dir string }

// Check refuses if both files exist. One alone may be what a killed run has left: [Folder.Write] compares it.
func (f Folder) Check() error {
	for _, name := range []string{inventory.ClusterFile, inventory.NodesFile} {
		if _, err := os.Lstat(filepath.Join(f.Dir, name)); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	return f.exists(inventory.ClusterFile)
}

func (f Folder) exists(name string) error {
	return fmt.Errorf("%s exists, and is not overwritten: leave --write-inventory out to adopt what it describes, or move it away", workspace.Nearby(filepath.Join(f.Dir, name)))
}

// Write writes the two files, each in one step, and returns their paths. A file that is the same already is left, since a run that was
// killed may have written it; another one is refused before anything is written.
func (f Folder) Write(files Files) (paths []string, err error) {
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		return nil, err
	}
	texts := map[string][]byte{inventory.ClusterFile: files.Cluster, inventory.NodesFile: files.Nodes}
	missing := map[string]bool{}
	names := []string{inventory.ClusterFile, inventory.NodesFile}
	for _, name := range names {
		there, err := os.ReadFile(filepath.Join(f.Dir, name))
		missing[name] = errors.Is(err, os.ErrNotExist)
		if err != nil && !missing[name] {
			return nil, err
		}
		if err == nil && !bytes.Equal(there, texts[name]) {
			return nil, f.exists(name)
		}
	}
	for _, name := range names {
		path := filepath.Join(f.Dir, name)
		if missing[name] {
			err = atomicfile.WriteBeside(path, texts[name], 0o644)
		}
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
