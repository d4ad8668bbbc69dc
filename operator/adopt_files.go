package operator

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/discovery"
)

// newInventory is the folder of an inventory that does not exist yet.
type newInventory struct{ dir string }

// check refuses if both files exist. One alone may be what a killed run has left: [newInventory.write] compares it.
func (n newInventory) check() error {
	for _, name := range []string{inventory.ClusterFile, inventory.NodesFile} {
		if _, err := os.Lstat(filepath.Join(n.dir, name)); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	return n.exists(inventory.ClusterFile)
}

func (n newInventory) exists(name string) error {
	return fmt.Errorf("%s exists, and is not overwritten: leave --write-inventory out to adopt what it describes, or move it away", workspace.Nearby(filepath.Join(n.dir, name)))
}

// write writes the two files, each in one step, and returns their paths. A file that is the same already is left, since a run that was
// killed may have written it; another one is refused before anything is written.
func (n newInventory) write(files discovery.Files) (paths []string, err error) {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return nil, err
	}
	texts := map[string][]byte{inventory.ClusterFile: files.Cluster, inventory.NodesFile: files.Nodes}
	missing := map[string]bool{}
	names := []string{inventory.ClusterFile, inventory.NodesFile}
	for _, name := range names {
		there, err := os.ReadFile(filepath.Join(n.dir, name))
		missing[name] = errors.Is(err, os.ErrNotExist)
		if err != nil && !missing[name] {
			return nil, err
		}
		if err == nil && !bytes.Equal(there, texts[name]) {
			return nil, n.exists(name)
		}
	}
	for _, name := range names {
		path := filepath.Join(n.dir, name)
		if missing[name] {
			err = writeWhole(path, texts[name], 0o644)
		}
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
