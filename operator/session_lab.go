package operator

import (
	"context"
	"fmt"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
)

// enterLab moves the inventory of a rehearsal to the lab's network.
func (s *session) enterLab(ctx context.Context, needed needs) (LabHost, error) {
	if !s.workspace.Rehearsed {
		return LabHost{}, nil
	}
	if needed.lab {
		if err := s.startLab(ctx, s.engine.content, s.emit); err != nil {
			return LabHost{}, err
		}
	}
	host, err := s.options.Lab.Running(s.site())
	if err != nil || s.layer != nil {
		return host, err
	}
	moved, err := s.moveTo(host, s.inventory)
	if err != nil {
		return host, err
	}
	s.work(moved)
	return host, nil
}

// moveTo returns an inventory with the addresses of a lab.
func (o *Operator) moveTo(host LabHost, inv *inventory.Inventory) (*inventory.Inventory, error) {
	network, err := host.NetworkOf(inv.Cluster.Network.CIDR)
	if err != nil {
		lab := o.remedies().Lab
		return nil, refused(fmt.Errorf("%w: start it again, with `em-infra lab stop %s` and `em-infra lab start %s`", err, lab, lab))
	}
	moved, err := inv.Rebase(network)
	if err != nil {
		return nil, refused(fmt.Errorf("the lab was made for another network (%w): set network.cidr back, or delete %s to begin anew", err, workspace.Nearby(o.workspace.Dir)))
	}
	return moved, nil
}

// startLab starts the lab of a rehearsal unless it is running, and reports its address.
func (o *Operator) startLab(ctx context.Context, content Content, tell func(Event)) error {
	if err := o.options.Lab.Check(o.site()); err != nil {
		return refused(err)
	}
	if err := o.workspace.Prepare(); err != nil {
		return err
	}
	host, err := o.options.Lab.Start(ctx, o.site())
	if err != nil {
		return err
	}
	started := LabStarted{Lab: host}
	if inv, isPlatform := content.(*inventory.Inventory); isPlatform {
		started.Nodes = len(inv.Nodes)
	}
	tell(started)
	return nil
}

// StartLab starts the lab of a rehearsal unless it is running. It needs [Options.Lab].
func (o *Operator) StartLab(ctx context.Context) error {
	content, err := o.Content()
	if err != nil {
		return refused(err)
	}
	return o.startLab(ctx, content, o.emit)
}
