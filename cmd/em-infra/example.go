package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/workspace"
)

// exampleFiles are the files of a project: those of this repository, copied, because a package cannot embed what lies above it. The
// ignored files have another name here, since git would follow them in this folder, too.
//
//go:embed all:example
var exampleFiles embed.FS

// exampleIgnored is the name of .gitignore among the embedded files.
const exampleIgnored = "gitignore"

func newExampleCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "example [FOLDER]",
		Short: "Write a project with an inventory, so that em-infra works without a clone",
		Long: `Write a project into a folder, by default the current one: Pulumi.yaml, the inventory and the configuration of stack k3s-dev, the
schemas that editors check an inventory with, and what git ignores. A file that is there already is never changed.`,
		Example: "  em-infra example cluster",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if err := writeExample(dir); err != nil {
				return err
			}
			_, err := fmt.Fprintf(command.OutOrStdout(), "written: %s\nnext: change the addresses and names in %s, then em-infra validate --stack k3s-dev\n",
				workspace.Nearby(dir), workspace.Nearby(filepath.Join(dir, "stacks", "k3s-dev")))
			return err
		},
	}
}

// writeExample writes the project, unless one of its files is there.
func writeExample(dir string) error {
	files := map[string][]byte{filepath.Join(dir, ".state", ".gitkeep"): nil}
	err := fs.WalkDir(exampleFiles, "example", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel("example", filepath.FromSlash(path))
		if err != nil {
			return err
		}
		if name == exampleIgnored {
			name = ".gitignore"
		}
		text, err := exampleFiles.ReadFile(path)
		files[filepath.Join(dir, name)] = text
		return err
	})
	if err != nil {
		return err
	}
	paths := slices.Sorted(maps.Keys(files))
	for _, path := range paths {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			return refused(fmt.Errorf("%s is there already: name an empty folder, as in `em-infra example cluster`", workspace.Nearby(path)))
		}
	}
	for _, path := range paths {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // nothing in it is secret
			return err
		}
		if err := os.WriteFile(path, files[path], 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}
