package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/rehearsal"
)

// stage is the environment of a rehearsal: an operator with its own lab, and a copy of the inventory that the rehearsal changes.
type stage struct {
	*Operator

	// nodes.yaml unchanged, and with an additional worker
	plain, extended []byte
	kubeconfig      []byte
	log             *os.File
	lock            *flock.Flock
}

// rehearsalSuffix distinguishes the rehearsal of a stack from the stack's own lab.
const rehearsalSuffix = "-rehearsal"

// setStage removes an earlier rehearsal and starts the lab.
func (o *Operator) setStage(ctx context.Context, options RehearseOptions, inv *inventory.Inventory, extended *rehearsal.Extended) (*stage, error) {
	own := o.options
	own.Stack, own.Yes = own.Stack+rehearsalSuffix, true
	own.Inventory = workspace.Nearby(filepath.Join(o.workspace.Dir+rehearsalSuffix, "inventory"))
	inner, err := Open(own)
	if err != nil {
		return nil, err
	}
	s := &stage{Operator: inner, extended: extended.Nodes}
	if s.lock, err = rehearsal.Lock(s.workspace.Dir + ".lock"); errors.Is(err, rehearsal.ErrUnderWay) {
		return nil, refused(err)
	} else if err != nil {
		return nil, err
	}
	if err := s.furnish(ctx, o.workspace.Inventory); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	s.options.ToolsProgress, s.events = s.log, &serialEvents{}
	if options.Log != nil {
		s.events.to = options.Log(s.log)
	}
	if err := s.startLab(ctx, inv, o.emit); err != nil {
		return nil, errors.Join(err, s.log.Close(), s.lock.Close())
	}
	return s, nil
}

// furnish recreates the rehearsal's folder with the inventory and the log.
func (s *stage) furnish(ctx context.Context, from string) error {
	if err := s.options.Lab.Stop(ctx, s.site()); err != nil {
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

// tearDown stops the lab unless keep is set, and removes its folder if all results were expected.
func (s *stage) tearDown(ctx context.Context, keep, expected bool) error {
	problems := []error{s.log.Close()}
	if !keep {
		problems = append(problems, s.options.Lab.Stop(ctx, s.site()))
	}
	if !keep && expected {
		problems = append(problems, os.RemoveAll(s.workspace.Dir))
	}
	return errors.Join(append(problems, s.lock.Close())...)
}
