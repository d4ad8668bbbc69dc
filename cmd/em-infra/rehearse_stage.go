package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/rehearsal"
	"github.com/em-infra/em-infra/internal/workspace"
)

// stage is what a rehearsal stands on: a lab of its own, with a copy of the inventory that may be changed.
type stage struct {
	flags     stackFlags
	workspace *workspace.Workspace
	// nodes.yaml as it is, and with a worker more.
	plain, extended []byte
	kubeconfig      []byte
	log             *os.File
	lock            *os.File
}

// rehearsalSuffix tells the rehearsal of a stack from the stack's lab.
const rehearsalSuffix = "-rehearsal"

// setStage clears away what an earlier rehearsal left, and starts the lab.
func setStage(ctx context.Context, flags rehearseFlags, inv *inventory.Inventory, extended *rehearsal.Extended, progress io.Writer) (*stage, error) {
	original, err := flags.workspace()
	if err != nil {
		return nil, refused(err)
	}
	own, err := workspace.Rehearsal(original.Root, flags.stack+rehearsalSuffix, filepath.Join(original.Dir+rehearsalSuffix, "inventory"))
	if err != nil {
		return nil, refused(err)
	}
	s := &stage{workspace: own, extended: extended.Nodes}
	s.flags = stackFlags{stack: own.Stack, inventory: workspace.Nearby(own.Inventory), lab: true, yes: true, refresh: true}
	if s.lock, err = lockRehearsal(own.Dir + ".lock"); err != nil {
		return nil, err
	}
	if err := s.set(ctx, original.Inventory); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	if err := startLab(ctx, own, inv, flags.choices, progress); err != nil {
		return nil, errors.Join(err, s.log.Close(), s.lock.Close())
	}
	return s, nil
}

// errRehearsed says that two rehearsals of a stack would share one host.
var errRehearsed = errors.New("another rehearsal of this stack is under way: wait for it to end, then run again")

// lockRehearsal keeps a second rehearsal of the stack away until this process ends.
func lockRehearsal(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the rehearsal's own
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = refused(errRehearsed)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// set makes the rehearsal's folder anew: the inventory's files and the log.
func (s *stage) set(ctx context.Context, from string) error {
	if _, err := lab.Stop(ctx, s.workspace.Dir); err != nil {
		return err
	}
	if err := os.RemoveAll(s.workspace.Dir); err != nil {
		return err
	}
	if err := os.CopyFS(s.workspace.Inventory, os.DirFS(from)); err != nil {
		return fmt.Errorf("copy the inventory: %w", err)
	}
	var err error
	if s.plain, err = os.ReadFile(s.nodesFile()); err != nil {
		return err
	}
	s.log, err = os.OpenFile(filepath.Join(s.workspace.Dir, "rehearsal.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return err
}

func (s *stage) nodesFile() string { return filepath.Join(s.workspace.Inventory, inventory.NodesFile) }

// strike takes the stage down: a lab that is not kept is stopped, and its folder removed when nobody needs to look at it.
func (s *stage) strike(ctx context.Context, keep, expected bool) error {
	problems := []error{s.log.Close()}
	if !keep {
		_, err := lab.Stop(ctx, s.workspace.Dir)
		problems = append(problems, err)
	}
	if !keep && expected {
		problems = append(problems, os.RemoveAll(s.workspace.Dir))
	}
	return errors.Join(append(problems, s.lock.Close())...)
}
