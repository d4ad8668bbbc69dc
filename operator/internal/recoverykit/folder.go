package recoverykit

import (
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Below returns the names of the files in a folder and in those below it, with slashes, sorted. Links are followed: a kit has no link, as what it
// points to may be nowhere else. One that points to nothing is left out, and so is one to a folder that it is in.
func Below(folder string) ([]string, error) {
	names, err := below(folder, "", nil)
	slices.Sort(names)
	return names, err
}

// below returns the names of the files in a folder below the root, whose real path is the last of within.
func below(root, folder string, within []string) ([]string, error) {
	at := filepath.Join(root, filepath.FromSlash(folder))
	target, err := filepath.EvalSymlinks(at)
	if err != nil {
		return nil, err
	}
	if slices.Contains(within, target) {
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
		case os.IsNotExist(err): // a link to nothing, such as the lock of an editor
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
