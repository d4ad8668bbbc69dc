package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/getsops/sops/v3"

	"github.com/em-infra/em-infra/internal/remedy"
)

// Names returns the names of the secrets beside the inventory in a folder, with dots between their keys, sorted. SOPS does not encrypt names,
// so no key is needed. Without the file there are none. Errors wrap [ErrNotEncrypted] or [ErrNotSOPS].
func Names(dir string) ([]string, error) {
	name := filepath.Join(dir, File)
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	tree, err := encryptedTree(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var names []string
	for _, branch := range tree.Branches {
		names = namesIn(branch, nil, names)
	}
	slices.Sort(names)
	return names, nil
}

// namesIn appends the names of the values in a mapping, recursively.
func namesIn(branch sops.TreeBranch, path, names []string) []string {
	for _, item := range branch {
		key, ok := item.Key.(string)
		if !ok { // a comment
			continue
		}
		inner := append(slices.Clone(path), key)
		if nested, ok := item.Value.(sops.TreeBranch); ok {
			names = namesIn(nested, inner, names)
			continue
		}
		names = append(names, strings.Join(inner, "."))
	}
	return names
}

// encryptedTree parses the file without decrypting it. The library's errors may quote values, so they are not passed on.
func encryptedTree(data []byte) (sops.Tree, error) {
	tree, err := store().LoadEncryptedFile(data)
	switch {
	case errors.Is(err, sops.MetadataNotFound):
		return tree, remedy.Errorf("run `sops encrypt --in-place` on it, and replace what others may have read", "%w", ErrNotEncrypted)
	case err != nil:
		return tree, remedy.Errorf("restore it from a backup", "%w", ErrNotSOPS)
	}
	return tree, nil
}
