package toolchain

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// kept is the number of entries of a tool that stay in the cache: the newest, and the one before it for a return to the last
// commit.
const kept = 2

// prune removes the older entries of a tool and the leftovers of killed builds, unless another process uses them.
func (in *installer) prune(name string) error {
	dir := filepath.Join(in.cache, "tools", name)
	found, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	type entry struct {
		key  string
		made time.Time // zero if it is incomplete
	}
	var entries []entry
	for _, f := range found {
		key := strings.TrimSuffix(strings.TrimSuffix(f.Name(), ".lock"), ".partial")
		if slices.ContainsFunc(entries, func(e entry) bool { return e.key == key }) {
			continue
		}
		e := entry{key: key}
		if info, err := os.Stat(filepath.Join(dir, key, manifestName)); err == nil {
			e.made = info.ModTime()
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(b.made.Compare(a.made), strings.Compare(a.key, b.key))
	})

	var problems []error
	for i, e := range entries {
		if i >= kept || e.made.IsZero() {
			problems = append(problems, removeEntry(filepath.Join(dir, e.key)))
		}
	}
	return errors.Join(problems...)
}

// removeEntry removes an entry, its leftovers and its lock, unless the lock is held. It removes the manifest first, because an
// entry without a manifest is invalid.
func removeEntry(dir string) error {
	l, err := tryAcquire(dir + ".lock")
	if errors.Is(err, errHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.release()
	if err := os.Remove(filepath.Join(dir, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+".partial"), os.Remove(dir+".lock"))
}
