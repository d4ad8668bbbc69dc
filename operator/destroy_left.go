package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// possessions are what a stack has before it is destroyed, and by which it is known on the host afterwards.
type possessions struct {
	sources status.Sources
	owners  []ownership.Owner
}

// possessions reads them from the state, and from its copies: a state that was destroyed before does not know its cluster any
// more.
func (s *session) possessions(ctx context.Context) (p possessions, err error) {
	host, err := pve.NewReader(s.host)
	if err != nil {
		return p, refused(err)
	}
	exported, err := s.readState(ctx)
	if err != nil {
		return p, err
	}
	owner, err := recovery.OwnerOf(s.workspace.Stack, &exported.Deployment)
	if err != nil {
		return p, err
	}
	if p.owners = []ownership.Owner{owner}; owner.Cluster == "" {
		past, err := s.pastStates()
		if err != nil {
			return p, err
		}
		p.owners = recovery.PastOwners(s.workspace.Stack, past)
	}
	p.sources = status.Sources{Inventory: s.inventory, Host: host, Deployment: exported.Deployment}
	return p, nil
}

// checkNothingLeft names what is on the host of a stack that was destroyed. The error is that of a machine that stays.
func (s *session) checkNothingLeft(ctx context.Context, had possessions) (*DestroyResult, error) {
	left, err := had.sources.Left(ctx, had.owners)
	if err != nil {
		return nil, fmt.Errorf("the state of %s is empty now; whether anything is left on the host is not known (%w): see that it answers, then run `em-infra destroy %s` again", s.workspace.Stack, err, s.place)
	}
	for _, one := range slices.Concat(left.Machines, left.Disks, left.ISOs) {
		s.emit(LeftOnHost{What: one.What, Do: s.inPlace(onHost(one))})
	}
	if len(left.Machines) > 0 {
		return nil, fmt.Errorf("%s is not gone: %d of its machines, which its state does not know, stay on the host: see above for what to do with each", s.workspace.Stack, len(left.Machines))
	}
	return &DestroyResult{ISOs: len(left.ISOs)}, nil
}

// onHost is what to do about something that lies on the host.
func onHost(left status.Orphan) string {
	if left.Remove == "" {
		return left.Do
	}
	return fmt.Sprintf("if nobody needs it: `%s` on %s", left.Remove, left.Host)
}

// placeOrphans puts the flags of this session, and in a rehearsal the lab's commands, into what is to be done about orphans.
func (s *session) placeOrphans(orphans []status.Orphan) {
	for i := range orphans {
		orphan := &orphans[i]
		orphan.Do = s.inPlace(orphan.Do)
		if do := s.inPlace(fmt.Sprintf("`%s` on %s", orphan.Remove, orphan.Host)); s.workspace.Rehearsed && !strings.Contains(do, orphan.Remove) {
			orphan.Remove, orphan.Do = "", "if nobody needs it: "+do
		}
	}
}
