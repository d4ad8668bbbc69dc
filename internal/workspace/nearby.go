package workspace

import (
	"os"
	"path/filepath"
)

// Nearby returns a path as it is shown in messages: relative to the current folder if it is below it.
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
