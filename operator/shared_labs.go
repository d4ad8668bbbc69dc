package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
)

// ShareLabs has the rehearsals of all stacks of the project that a folder belongs to share labs: one for each Proxmox VE, by the endpoints in
// the stacks' files. An empty folder is the current one. It is refused if a stack has a lab of its own. A lab that a stack is added to is
// stopped, so that it starts with what that stack needs.
func ShareLabs(ctx context.Context, folder string, lab Lab) error {
	stacks, err := rehearsals(folder)
	if err != nil {
		return err
	}
	var alone []error
	for _, w := range stacks {
		if w.SharedLab() != "" {
			continue
		}
		_, found, err := lab.Find(siteOf(w))
		if err != nil {
			return err
		}
		if found {
			alone = append(alone, fmt.Errorf("%[1]s has a lab of its own: take what is on it down with `em-infra destroy --stack %[1]s --lab`, stop it with `em-infra lab stop --stack %[1]s`, and delete %[2]s; or rehearse that stack alone", w.Stack, workspace.Nearby(w.Dir)))
		}
	}
	if err := errors.Join(alone...); err != nil {
		return refused(err)
	}
	for _, w := range stacks {
		if err := share(ctx, w, lab); err != nil {
			return fmt.Errorf("%s: %w", w.Stack, err)
		}
	}
	return nil
}

// share has one rehearsal use the lab of its Proxmox VE.
func share(ctx context.Context, w *workspace.Workspace, lab Lab) error {
	if w.SharedLab() != "" {
		return nil
	}
	endpoint, err := w.RealEndpoint()
	if err != nil {
		return err
	}
	if endpoint != "" {
		endpoint = pve.Origin(endpoint)
	}
	if err := w.ShareLab(workspace.SharedLabName(endpoint)); err != nil {
		return err
	}
	return lab.Stop(ctx, siteOf(w))
}

// rehearsals returns the workspaces of the rehearsals of all stacks of a project.
func rehearsals(folder string) ([]*workspace.Workspace, error) {
	found, err := StacksByLayer(folder)
	if err != nil {
		return nil, err
	}
	root, err := projectRoot(folder)
	if err != nil {
		return nil, err
	}
	var all []*workspace.Workspace
	for _, one := range found {
		w, err := workspace.Rehearsal(root, one.Stack, "")
		if err != nil {
			return nil, refused(err)
		}
		all = append(all, w)
	}
	return all, nil
}

// SharedLab returns the folder of a lab that stacks of the project share, and the folders of their inventories, by layer.
func SharedLab(folder, name string) (dir string, inventories []string, err error) {
	all, err := rehearsals(folder)
	if err != nil {
		return "", nil, err
	}
	for _, w := range all {
		if w.SharedLab() == name {
			dir, inventories = w.Lab, append(inventories, w.Inventory)
		}
	}
	if inventories == nil {
		return "", nil, refused(fmt.Errorf("no stack shares the lab %s: start one with `em-infra site up --lab`", name))
	}
	return dir, inventories, nil
}
