package workspace

import (
	"os"
	"path/filepath"
)

// Nearby is the name of a path for whoever reads a message: relative to the current folder if it lies below it.
func Nearby(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(here, path)
	if err != nil || !filepath.IsLocal(relative) {
		return path
	}
	return relative
}
