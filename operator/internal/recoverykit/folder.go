package recoverykit

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Below returns the names of the files in a folder and in those below it, with slashes, sorted. Links are followed: a kit has no link, as
// what it points to may be nowhere else. A link that leads to no file or folder is left out, as is one that cannot be followed, and one to a
// folder that it is in, which can be above the first.
func Below(folder string) ([]string, error) {
	target, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	if target, err = filepath.Abs(target); err != nil {
		return nil, err
	}
	names, err := below(target, "", nil)
	slices.Sort(names)
	return names, err
}

// isIn reports whether a folder is below another one.
func isIn(folder, other string) bool {
	way, err := filepath.Rel(other, folder)
	return err == nil && way != "." && way != ".." && !strings.HasPrefix(way, ".."+string(filepath.Separator))
}

// below returns the names of the files in a folder below the root, which is a real path; within are the real paths of the folders above it.
func below(root, folder string, within []string) ([]string, error) {
	at := filepath.Join(root, filepath.FromSlash(folder))
	target, err := filepath.EvalSymlinks(at)
	if err != nil {
		return nil, err
	}
	if slices.Contains(within, target) || isIn(root, target) {
		return nil, nil
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		info, err := os.Stat(filepath.Join(at, entry.Name()))
		switch {
		case err != nil && entry.Type()&os.ModeSymlink != 0: // as the lock of an editor, which leads to nothing
		case err != nil:
			return nil, err
		case info.Mode().IsRegular():
			names = append(names, name)
		case info.IsDir():
			found, err := below(root, name, append(slices.Clone(within), target))
			if err != nil {
				return nil, err
			}
			names = append(names, found...)
		}
	}
	return names, nil
}
