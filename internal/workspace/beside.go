package workspace

import (
	"path/filepath"
	"strings"

	"github.com/em-infra/em-infra/internal/filematch"
)

// Beside returns the other stacks of the project whose inventories are in folders beside this one's. A folder without a stack
// file is no stack: it may be a copy. An unreadable stack file is skipped; a command for that stack reports the error.
func (w *Workspace) Beside() ([]*Workspace, error) {
	stacks, err := Stacks(w.Root)
	if err != nil {
		return nil, err
	}
	var others []*Workspace
	for _, stack := range stacks {
		if stack == w.Stack {
			continue // also if --inventory names another folder than its stack file
		}
		other, err := Real(w.Root, stack, "")
		if err != nil || other.Inventory == w.Inventory || filepath.Dir(other.Inventory) != filepath.Dir(w.Inventory) {
			continue
		}
		others = append(others, other)
	}
	return others, nil
}

// Stacks returns the names of the stacks of a project, sorted: those with a stack file.
func Stacks(root string) ([]string, error) {
	files, err := filematch.In(root, "Pulumi.*.yaml")
	var stacks []string
	for _, file := range files { // sorted
		stack := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "Pulumi."), ".yaml")
		if checkStack(stack) == nil {
			stacks = append(stacks, stack)
		}
	}
	return stacks, err
}

// RealEndpoint returns the URL of Proxmox VE in the project's stack file, also for a rehearsal; empty if there is none.
func (w *Workspace) RealEndpoint() (string, error) {
	file, err := readStackFile(filepath.Join(w.Root, "Pulumi."+w.Stack+".yaml"))
	value := file.Config[keyEndpoint]
	return value.Value, err
}
