package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/canonical"
)

// FormatOptions are the options of [Format].
type FormatOptions struct {
	// Folders are the inventories. Default: none, those of all stacks of the project.
	Folders []string
	// Check writes nothing. Default: false.
	Check bool
}

// Format writes the files of inventories in their canonical form: indentation and blanks; keys, values and comments stay. It returns
// the files that it has changed, or with Check would change, in the order of their names. Files that are no YAML are refused before any is written.
func Format(options FormatOptions) ([]string, error) {
	folders := options.Folders
	if len(folders) == 0 {
		stacks, err := Stacks("")
		if err != nil {
			return nil, err
		}
		if folders, err = inventoriesOf(stacks); err != nil {
			return nil, err
		}
	}
	formed, problems := map[string][]byte{}, []error{}
	var changed []string
	for _, folder := range folders {
		kind, err := manifest.KindOf(folder)
		if err != nil {
			return nil, refused(err)
		}
		for _, name := range kind.Files() {
			file := filepath.Join(folder, name)
			text, err := canonicalFile(file)
			if err != nil {
				problems = append(problems, err)
			}
			if text != nil {
				formed[file], changed = text, append(changed, file)
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, refused(err)
	}
	if options.Check {
		return changed, nil
	}
	for _, file := range changed {
		if err := atomicfile.Replace(file, formed[file]); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// inventoriesOf returns the folders of the inventories of stacks, each once.
func inventoriesOf(stacks []StackSummary) (folders []string, err error) {
	root, err := workspace.FindRoot(".")
	if err != nil {
		return nil, refused(err)
	}
	seen := map[string]bool{}
	for _, stack := range stacks {
		if stack.Inventory != "" && !seen[stack.Inventory] {
			seen[stack.Inventory] = true
			folders = append(folders, workspace.Nearby(filepath.Join(root, filepath.FromSlash(stack.Inventory))))
		}
	}
	if len(folders) == 0 {
		return nil, refused(errors.New("this project has no stack: name a folder with --inventory"))
	}
	return folders, nil
}

// canonicalFile returns the canonical form of a file; nil if it has that form.
func canonicalFile(file string) ([]byte, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the user named it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file: create it, or name the folder that holds the inventory", file)
	}
	if err != nil {
		return nil, err
	}
	formed, err := canonical.Form(text)
	switch {
	case errors.Is(err, canonical.ErrNoYAML):
		return nil, fmt.Errorf("%s: %w: correct it, `em-infra validate --inventory %s` names the line", file, err, filepath.Dir(file))
	case err != nil:
		return nil, fmt.Errorf("%s: its canonical form %w: format it by hand", file, err)
	case string(formed) == string(text):
		return nil, nil
	default:
		return formed, nil
	}
}
