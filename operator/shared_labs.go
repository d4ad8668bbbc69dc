package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
)

// ShareLabs makes the rehearsals of all stacks of the project that a folder belongs to share labs: one for each Proxmox VE, by the endpoints in the
// stacks' files. An empty folder is the current one. It is refused, with nothing changed, if a stack has a lab of its own or that of another
// endpoint, if a lab runs that a stack would have to join, or if one lab cannot have what all its stacks need.
func ShareLabs(ctx context.Context, folder string, lab Lab) error {
	all, err := rehearsals(folder)
	if err != nil {
		return err
	}
	plan := sharing{lab: lab, inventories: map[string][]string{}, nameOf: map[string]string{}, member: map[string]string{}}
	for _, w := range all {
		if err := plan.add(w); err != nil {
			return err
		}
	}
	for _, name := range plan.names {
		plan.refuse(lab.CheckShared(plan.inventories[name]))
	}
	for _, w := range plan.joining {
		plan.refuseIfRunning(w)
	}
	if err := errors.Join(plan.refusals...); err != nil {
		return refused(err)
	}
	for _, w := range plan.joining {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.ShareLab(plan.nameOf[w.Stack]); err != nil {
			return fmt.Errorf("%s: %w", w.Stack, err)
		}
	}
	return nil
}

// CheckRehearsed refuses if no stack of the project that a folder belongs to has a lab.
func CheckRehearsed(folder string, lab Lab) error {
	all, err := rehearsals(folder)
	if err != nil {
		return err
	}
	for _, w := range all {
		if _, there, err := lab.Find(siteOf(w)); err != nil || there {
			return err
		}
	}
	return refused(errors.New("no stack of this project is rehearsed yet: bring the site up on a lab with `em-infra site up --lab`"))
}

// rehearsals returns the rehearsals of the stacks of a project, the lowest layer first.
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

// sharing is which stacks are to share which labs.
type sharing struct {
	lab      Lab
	names    []string          // of the labs, in the order of their stacks
	nameOf   map[string]string // of the lab that a stack joins
	member   map[string]string // a stack that shares a lab already
	joining  []*workspace.Workspace
	refusals []error
	// inventories are the folders of the stacks of each lab.
	inventories map[string][]string
}

func (s *sharing) refuse(err error) {
	if err != nil {
		s.refusals = append(s.refusals, err)
	}
}

// add plans which lab a stack shares. It collects the refusals; its error is none of them.
func (s *sharing) add(w *workspace.Workspace) error {
	endpoint, err := w.RealEndpoint()
	if err != nil {
		return err
	}
	if endpoint != "" {
		endpoint = pve.Origin(endpoint)
	}
	name := workspace.SharedLabName(endpoint)
	if s.inventories[name] == nil {
		s.names = append(s.names, name)
	}
	s.inventories[name] = append(s.inventories[name], w.Inventory)
	switch w.SharedLab() {
	case name:
		s.member[name] = w.Stack
		return nil
	case "":
		return s.join(w, name)
	default:
		s.refuse(fmt.Errorf("%[1]s shares the lab %[2]s, but its endpoint is another one now: take what it has there down with `em-infra destroy --stack %[1]s --lab`, then delete %[3]s", w.Stack, w.SharedLab(), workspace.Nearby(w.Dir)))
		return nil
	}
}

// join plans that a stack shares a lab. One that has a lab keeps it, because its state is that of machines there.
func (s *sharing) join(w *workspace.Workspace, name string) error {
	_, found, err := s.lab.Find(siteOf(w))
	if err != nil {
		return err
	}
	if found {
		s.refuse(fmt.Errorf("%[1]s has a lab of its own: take what is on it down with `em-infra destroy --stack %[1]s --lab`, stop it with `em-infra lab stop --stack %[1]s`, and delete %[2]s; or rehearse that stack alone", w.Stack, workspace.Nearby(w.Dir)))
		return nil
	}
	s.nameOf[w.Stack], s.joining = name, append(s.joining, w)
	return nil
}

// refuseIfRunning refuses a stack that would join a lab that is running, because the lab lacks what the stack needs.
func (s *sharing) refuseIfRunning(w *workspace.Workspace) {
	name := s.nameOf[w.Stack]
	shared := siteOf(w)
	shared.Shared, shared.Dir = name, workspace.SharedLab(w.Root, name)
	if _, err := s.lab.Running(shared); err != nil {
		return
	}
	s.refuse(fmt.Errorf("the lab %s runs without what %s needs: when no run works there, stop it with `em-infra lab stop --stack %s`, and run this again, which starts it", name, w.Stack, s.member[name]))
}

// SharedLab returns the folder of a lab that stacks of the project share, and the folders of their inventories, by the names of the stacks. Stacks
// that do not share it may be damaged.
func SharedLab(folder, name string) (dir string, inventories []string, err error) {
	root, err := projectRoot(folder)
	if err != nil {
		return "", nil, err
	}
	stacks, err := workspace.Stacks(root)
	if err != nil {
		return "", nil, err
	}
	for _, stack := range stacks {
		w, err := workspace.Rehearsal(root, stack, "")
		if err == nil && w.SharedLab() == name {
			dir, inventories = w.Lab, append(inventories, w.Inventory)
		}
	}
	if inventories == nil {
		return "", nil, refused(fmt.Errorf("no stack shares the lab %s: start one with `em-infra site up --lab`", name))
	}
	return dir, inventories, nil
}
