package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// Existing is what happens to files of the project that differ from those of the kit.
type Existing string

// The values of [Existing].
const (
	// RefuseExisting refuses to begin.
	RefuseExisting Existing = ""
	// KeepExisting leaves them as they are.
	KeepExisting Existing = "keep"
	// ReplaceExisting writes those of the kit in their places.
	ReplaceExisting Existing = "replace"
)

// KitRestoreOptions are the options of [Operator.RestoreKit].
type KitRestoreOptions struct {
	// Kit is the path of the sealed kit. Default: empty, the newest one of the stack on this machine.
	Kit string
	// Existing is what happens to files of the project that differ from those of the kit. Default: RefuseExisting.
	Existing Existing
}

// KitRestored is the result of [Operator.RestoreKit].
type KitRestored struct {
	// Kit is the description of the kit.
	Kit recoverykit.Description
	// Written are the paths of the files that were written, Kept of those that differ from the kit's and stayed.
	Written, Kept []string
	// Resources is the number of resources in the state; 0 if a state was there and was left as it is.
	Resources int
	// Passphrase is the file with the passphrase from the kit, which later commands need; empty if the kit has none.
	Passphrase string
}

// RestoreKit puts the files of a recovery kit into the project, and its state where the stack's file says, unless there is one. It changes
// nothing on the host or in the cluster.
func (o *Operator) RestoreKit(ctx context.Context, options KitRestoreOptions) (*KitRestored, error) {
	if !slices.Contains([]Existing{RefuseExisting, KeepExisting, ReplaceExisting}, options.Existing) {
		return nil, refused(fmt.Errorf("--existing: %q is nothing that can be done: choose %s or %s", options.Existing, KeepExisting, ReplaceExisting))
	}
	opened, err := o.openKit(options.Kit)
	if err != nil {
		return nil, err
	}
	r := kitRestore{Operator: o, kit: opened, to: o.placesOf(opened)}
	result, err := r.files(options.Existing)
	if err != nil {
		return nil, err
	}
	if err := o.workspace.RereadBackend(); err != nil { // the stack's file names it
		return nil, err
	}
	if result.Passphrase != "" && !o.workspace.Rehearsed {
		o.workspace.PassphraseFile = result.Passphrase
	}
	if result.Resources, err = r.state(ctx); err != nil {
		return nil, err
	}
	return result, nil
}

// kitRestore is a kit that is put back.
type kitRestore struct {
	*Operator

	kit *recoverykit.Opened
	to  map[string]string // the paths of its files, by their names in the kit
}

// placesOf returns where the files of a kit belong in the project. The machine secrets are in the state, and the talosconfig and the page
// are for people.
func (o *Operator) placesOf(kit *recoverykit.Opened) map[string]string {
	folders := map[string]string{
		recoverykit.InventoryFolder: o.workspace.Inventory, recoverykit.StateFolder: o.workspace.Backups, recoverykit.EtcdFolder: o.workspace.Snapshots(),
	}
	to := map[string]string{}
	for _, name := range kit.Names() {
		folder, rest, _ := strings.Cut(name, "/")
		switch {
		case folders[folder] != "" && rest != "":
			to[name] = filepath.Join(folders[folder], filepath.FromSlash(rest))
		case folder == recoverykit.ProjectFolder:
			to[name] = o.workspace.StackFile()
		case name == recoverykit.Passphrase:
			to[name] = o.workspace.PassphraseHere()
		}
	}
	return to
}

// files writes the files that are missing or differ, as far as that is wanted.
func (r kitRestore) files(existing Existing) (*KitRestored, error) {
	result := &KitRestored{Kit: r.kit.Description, Passphrase: r.to[recoverykit.Passphrase]}
	for _, name := range r.kit.Names() {
		to := r.to[name]
		if to == "" {
			continue
		}
		same, there, err := r.compare(name, to)
		switch {
		case err != nil:
			return nil, err
		case same:
		case there && existing != ReplaceExisting:
			result.Kept = append(result.Kept, to)
		default:
			result.Written = append(result.Written, to)
		}
	}
	if len(result.Kept) > 0 && existing == RefuseExisting {
		return nil, refused(fmt.Errorf("the project has other files than the recovery kit: %s: add --existing keep to leave them as they are, or --existing replace to take those of the kit",
			strings.Join(nearbyAll(result.Kept), ", ")))
	}
	return result, r.kit.Unpack(func(name string) string {
		if !slices.Contains(result.Written, r.to[name]) {
			return ""
		}
		return r.to[name]
	})
}

// compare reports whether a file is there, and whether it is that of the kit. A sealed snapshot is not compared: its name is unique.
func (r kitRestore) compare(name, path string) (same, there bool, err error) {
	have, err := os.ReadFile(path) //nolint:gosec // in the project
	if errors.Is(err, os.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	wanted, read := r.kit.File(name)
	return !read || bytes.Equal(have, wanted), true, nil
}

// state imports the copy of the state in the kit, unless the stack has a state. It returns the number of its resources.
func (r kitRestore) state(ctx context.Context) (int, error) {
	s := r.session("")
	defer s.recovery.Release(ctx)
	tools, err := r.installTools(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.attach(ctx, tools); err != nil {
		return 0, err
	}
	empty, err := s.inState().isEmpty(ctx)
	if err != nil || !empty {
		return 0, err
	}
	restored, err := s.restoration(tools).run(ctx, r.kit.State)
	if err != nil {
		return 0, err
	}
	return restored.Resources, nil
}

func nearbyAll(paths []string) []string {
	near := make([]string, len(paths))
	for i, path := range paths {
		near[i] = workspace.Nearby(path)
	}
	return near
}
