package operator

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/newproject"
)

// WriteExample writes a project with the sample stacks of em-infra into a folder, which is made if it does not exist. It is refused if one of
// its files exists.
func WriteExample(dir string) error {
	files, err := newproject.Example()
	if err != nil {
		return err
	}
	if there := files.There(dir); len(there) > 0 {
		return refused(fmt.Errorf("%s: name an empty folder, as in `em-infra example cluster`", existing(dir, there)))
	}
	return files.Write(dir)
}

// existing returns the beginning of the sentence that files exist already.
func existing(dir string, paths []string) string {
	var names []string
	for _, path := range paths {
		names = append(names, workspace.Nearby(filepath.Join(dir, filepath.FromSlash(path))))
	}
	if len(names) == 1 {
		return names[0] + " exists, and is not overwritten"
	}
	return strings.Join(names, ", ") + " exist, and are not overwritten"
}
