package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// GitLabFile is the file that GitLab reads.
const GitLabFile = ".gitlab-ci.yml"

// includedFiles are the pipelines of all stacks.
const includedFiles = ".gitlab/em-infra-*.yml"

// Include is what that file must contain.
const Include = "include:\n  - local: " + includedFiles + "\n"

// Included reports whether GitLab reads the pipelines, and makes it read them if it reads nothing yet.
func Included(root string) (bool, error) {
	path := filepath.Join(root, GitLabFile)
	text, err := os.ReadFile(path) //nolint:gosec // below the project
	if errors.Is(err, os.ErrNotExist) {
		return true, os.WriteFile(path, []byte(Include), fileMode)
	}
	return strings.Contains(string(text), includedFiles), err
}
