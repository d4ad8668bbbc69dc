package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/shell"
)

// ledBy is --directory as it was given, for the commands that messages print. Like the current folder, it belongs to the
// process.
var ledBy []string

// directory is a [pflag.Value] that changes the current folder at once, before any other path is resolved. If it is given
// twice, the second is relative to the first, as with git and make.
type directory struct{}

func bindDirectory(root *cobra.Command) {
	root.PersistentFlags().VarP(directory{}, "directory", "C", "run as if started in this `folder`")
	if err := root.MarkPersistentFlagDirname("directory"); err != nil {
		panic(err) // only for a flag that was not added
	}
}

func (directory) Set(folder string) error {
	if err := os.Chdir(folder); err != nil {
		return fmt.Errorf("%w: name a folder that is there", err)
	}
	ledBy = append(ledBy, "-C", shell.Word(folder))
	return nil
}

func (directory) String() string { return "" }

func (directory) Type() string { return "string" }
