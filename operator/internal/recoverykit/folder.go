package recoverykit

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Listing is what a kit takes of a folder. The names have slashes and are sorted.
type Listing struct {
	// Files are the files in the folder and in those below it. Links are followed: a kit has no links, since their targets may exist nowhere else.
	Files []string
	// LeftOut are links that cannot be followed, that lead to no file or folder, or that lead to a folder that contains them, which can be above the
	// listed one.
	LeftOut []string
}

// Below lists a folder.
func Below(folder string) (Listing, error) {
	target, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return Listing{}, err
	}
	if target, err = filepath.Abs(target); err != nil {
		return Listing{}, err
	}
	var found Listing
	err = found.add(target, "", nil)
	slices.Sort(found.Files)
	slices.Sort(found.LeftOut)
	return found, err
}

// isIn reports whether a folder is below another one.
func isIn(folder, other string) bool {
	way, err := filepath.Rel(other, folder)
	return err == nil && way != "." && way != ".." && !strings.HasPrefix(way, ".."+string(filepath.Separator))
}

// add adds the files in a folder below the root, which is a real path; within are the real paths of the folders above it.
func (l *Listing) add(root, folder string, within []string) error {
	at := filepath.Join(root, filepath.FromSlash(folder))
	target, err := filepath.EvalSymlinks(at)
	if err != nil {
		return err
	}
	if slices.Contains(within, target) || isIn(root, target) {
		l.LeftOut = append(l.LeftOut, folder)
		return nil
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		info, err := os.Stat(filepath.Join(at, entry.Name()))
		switch {
		case err != nil && entry.Type()&os.ModeSymlink != 0: // as the lock of an editor, which leads to nothing
			l.LeftOut = append(l.LeftOut, name)
		case err != nil:
			return err
		case info.Mode().IsRegular():
			l.Files = append(l.Files, name)
		case info.IsDir():
			if err := l.add(root, name, append(slices.Clone(within), target)); err != nil {
				return err
			}
		}
	}
	return nil
}
