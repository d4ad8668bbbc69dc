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

// Populate puts the plugins into a PULUMI_HOME, in the layout that `pulumi plugin install` makes and the engine
// reads: plugins/resource-NAME-vX.Y.Z/pulumi-resource-NAME (workspace/plugins.go of the SDK). The files are hard
// links into the cache, so that they outlive its entry; on another file system they are symbolic links. What is there
// already is left as it is.
func (i *Installed) Populate(home string) error {
	for _, tool := range i.Tools {
		if tool.Kind != Plugin {
			continue
		}
		dir := filepath.Join(home, "plugins", "resource-"+tool.Name+"-"+tool.Version)
		for _, f := range tool.files {
			within := strings.TrimPrefix(f.Path, "bin/")
			if err := link(filepath.Join(tool.dir, f.Path), filepath.Join(dir, within)); err != nil {
				return fmt.Errorf("put plugin %s into %s: %w", tool.Name, home, err)
			}
		}
		// An install by pulumi itself that was cut short leaves a mark that makes the engine pass the folder over.
		if err := os.Remove(dir + ".partial"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put plugin %s into %s: %w", tool.Name, home, err)
		}
	}
	return nil
}

// Environment returns what a process that runs the CLI needs in its environment, so that it uses that PULUMI_HOME and
// nothing else: no plugin from PATH, no download, no look for news.
func (i *Installed) Environment(home string) map[string]string {
	return map[string]string{
		"PULUMI_HOME":                                 home,
		"PULUMI_IGNORE_AMBIENT_PLUGINS":               "true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
		"PULUMI_SKIP_UPDATE_CHECK":                    "true",
	}
}

// link makes target the file at source. It is made beside its place and moved there, because another run may be
// starting the one that is being replaced.
func link(source, target string) error {
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
	if err := os.Link(source, beside); err != nil {
		if err := os.Symlink(source, beside); err != nil {
			return err
		}
	}
	if err := os.Rename(beside, target); err != nil {
		return err
	}
	// A rename between two links of one file does nothing (rename(2)): another run was faster by a moment.
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
