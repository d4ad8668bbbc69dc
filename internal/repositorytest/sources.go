package repositorytest

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

// DependOn makes the result of the running test depend on files and folders of the repository, by their names from the top of the test's module. Go
// reuses the result of an earlier run if the test binary and the files that its own process has looked at are unchanged (`go help test`); it does not
// know the files that are read by the commands that the test runs. So a test that has something built or listed looks at the sources itself.
func DependOn(names ...string) error {
	for _, name := range names {
		path, err := Path(name)
		if err != nil {
			return err
		}
		// Reading a folder counts as a look at the size and the time of each file in it.
		if err := filepath.WalkDir(path, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			return fmt.Errorf("look at the sources: %w", err)
		}
	}
	return nil
}

// DependOnSources makes the result of the running test depend on all Go code of the repository, for tests that run em-infra, and for those
// of other modules and of the layout.
func DependOnSources() error {
	return DependOn("Pulumi.yaml", "cmd", "components", "docs", "go.mod", "go.sum", "internal", "main.go", "operator", "stacks", "tests", "tools")
}
