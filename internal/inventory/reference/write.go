package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	schemas, err := Schemas()
	if err != nil {
		return nil, err
	}
	var files []File
	for _, file := range inventoryFiles {
		files = append(files, File{"schemas/" + strings.TrimSuffix(file.name, ".yaml") + ".schema.json", schemas[file.name]})
	}
	for _, page := range pages {
		text, err := page.text()
		if err != nil {
			return nil, fmt.Errorf("reference page %s: %w", page.path, err)
		}
		files = append(files, File{page.path, text})
	}
	return files, nil
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
