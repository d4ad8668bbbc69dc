package reference

import (
	"fmt"
	"os"
	"path/filepath"
)

// File is one generated file.
type File struct {
	// Path in the repository.
	Path string
	// Text of the file.
	Text []byte
}

// Files returns all generated files.
func Files() ([]File, error) {
	cluster, nodes, err := Schemas()
	if err != nil {
		return nil, err
	}
	page, err := Page()
	if err != nil {
		return nil, fmt.Errorf("reference page: %w", err)
	}
	return []File{
		{"schemas/cluster.schema.json", cluster},
		{"schemas/nodes.schema.json", nodes},
		{"docs/inventory.md", page},
	}, nil
}

// Write updates the generated files of a checkout.
func Write(root string) error {
	files, err := Files()
	if err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(root, filepath.FromSlash(file.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, file.Text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
