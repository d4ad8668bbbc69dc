// Package filematch lists files of a folder that may have any name: [filepath.Glob] reads the folder's own name as a pattern, too, so it finds
// nothing below a folder such as "site [new]".
package filematch

import (
	"errors"
	"os"
	"path/filepath"
)

// In returns the paths of what a folder contains under names that match the pattern, sorted; none if there is no such folder.
func In(folder, pattern string) ([]string, error) {
	entries, err := os.ReadDir(folder) // sorted
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		matches, err := filepath.Match(pattern, entry.Name())
		if err != nil {
			return nil, err
		}
		if matches {
			found = append(found, filepath.Join(folder, entry.Name()))
		}
	}
	return found, nil
}
