package toolchain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Populate puts the plugins and the language host into a PULUMI_HOME, in the layout that `pulumi plugin install` creates and the
// engine reads: plugins/resource-NAME-vX.Y.Z/pulumi-resource-NAME (workspace/plugins.go of the SDK). The files are hard links into
// the cache, so that they remain if their entry is removed. On another file system they are symbolic links. Existing files are not
// changed.
func (i *Installed) Populate(home string) error {
	for _, tool := range i.Tools {
		var dir string
		switch tool.Kind {
		case Plugin:
			dir = filepath.Join(home, "plugins", "resource-"+tool.Name+"-"+tool.Version)
		case LanguageHost:
			dir = filepath.Join(home, "plugins", tool.Name+"-"+tool.Version)
		default:
			continue
		}
		if len(tool.files) == 0 { // the publisher's, on PATH; Environment hides PATH from the engine
			if err := linkSymbolically(tool.Path, filepath.Join(dir, filepath.Base(tool.Path))); err != nil {
				return fmt.Errorf("put %s into %s: %w", tool.Name, home, err)
			}
		}
		for _, f := range tool.files {
			within := strings.TrimPrefix(f.Path, "bin/")
			if err := link(filepath.Join(tool.dir, f.Path), filepath.Join(dir, within)); err != nil {
				return fmt.Errorf("put plugin %s into %s: %w", tool.Name, home, err)
			}
		}
		// An interrupted install by pulumi leaves a mark that makes the engine ignore the folder.
		if err := os.Remove(dir + ".partial"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put plugin %s into %s: %w", tool.Name, home, err)
		}
	}
	return nil
}

// Environment returns the variables for a process that runs the CLI. With them the CLI uses only the plugins in that PULUMI_HOME,
// downloads none, and does not check for updates.
func (i *Installed) Environment(home string) map[string]string {
	return map[string]string{
		"PULUMI_HOME":                                 home,
		"PULUMI_IGNORE_AMBIENT_PLUGINS":               "true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
		"PULUMI_SKIP_UPDATE_CHECK":                    "true",
	}
}

// link creates a hard link from target to source, or a symbolic link if that fails.
func link(source, target string) error {
	return replace(source, target, func(beside string) error {
		if err := os.Link(source, beside); err != nil {
			return os.Symlink(source, beside)
		}
		return nil
	})
}

// linkSymbolically creates a symbolic link, so that an executable finds the files beside its real path.
func linkSymbolically(source, target string) error {
	return replace(source, target, func(beside string) error { return os.Symlink(source, beside) })
}

// replace replaces target by a link to source, unless target is already the same file. It creates the link beside target and
// renames it, because another run may be starting the old file.
func replace(source, target string, link func(beside string) error) error {
	at, err := os.Stat(source)
	if err != nil {
		return err
	}
	if there, err := os.Stat(target); err == nil && os.SameFile(at, there) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	beside := target + ".new-" + strconv.Itoa(os.Getpid())
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := link(beside); err != nil {
		return err
	}
	if err := os.Rename(beside, target); err != nil {
		return err
	}
	// A rename between two links of one file does nothing (rename(2)): another run created the link first.
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// In returns the path of a plugin in a PULUMI_HOME that [Installed.Populate] has filled.
func (t Tool) In(home string) string {
	return filepath.Join(home, "plugins", "resource-"+t.Name+"-"+t.Version, filepath.Base(t.Path))
}
