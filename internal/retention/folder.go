package retention

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// InFolder returns the names of the copies in a folder, newest first: the files with the ending. Other files are left out. A folder
// that does not exist has none. The error is that of the folder, or of a file whose name has a time that does not exist.
func InFolder(dir, ending string) ([]Name, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []Name
	for _, file := range files {
		text, isCopy := strings.CutSuffix(file.Name(), ending)
		name, err := Parse(text)
		if !isCopy || errors.Is(err, ErrNoName) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w: remove the file or give it its old name", filepath.Join(dir, file.Name()), err)
		}
		names = append(names, name)
	}
	slices.SortFunc(names, NewestFirst)
	return names, nil
}
