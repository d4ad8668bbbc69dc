package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// plain matches names that need no quotes in YAML, in a shell and in an expression of a forge.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// Check refuses names that a pipeline cannot contain.
func (p Pipeline) Check() error {
	for _, name := range []struct{ flag, value string }{{"--stack", p.Stack}, {"--runner", p.Runner}, {"--branch", p.Branch}} {
		if !plain.MatchString(name.value) {
			return fmt.Errorf("%s: %q has characters that a pipeline would interpret: use letters, digits, dots, hyphens, underscores and slashes", name.flag, name.value)
		}
	}
	return nil
}

// CheckProject refuses a project that the jobs cannot build em-infra from: they take the release of Go from its go.mod.
func CheckProject(root string) error {
	var missing []string
	for _, name := range []string{"go.mod", "cmd/em-infra"} {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the jobs build em-infra from the project, which has to be a clone of em-infra (it has no %s; got %s): move the files of this project into a clone, push that to a repository of your own, then run ci init there",
		strings.Join(missing, " and no "), root)
}
