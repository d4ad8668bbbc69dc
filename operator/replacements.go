package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/refusal"
	"github.com/em-infra/em-infra/operator/internal/span"
)

// replaceAlone replaces control planes, each in a run of the engine of its own, and assesses what is left to do. The removal of the next
// one waits until the one before has joined etcd. A run that is killed is continued by the next one, which sees what is left.
func (r upRun) replaceAlone(ctx context.Context, w work, seen outOfBand, names []string) (outOfBand, judgement, error) {
	names = slices.Clone(names)
	for first := true; len(names) > 0; first = false {
		next, err := r.replaceNext(ctx, w, seen, names)
		if err != nil && !first {
			err = refusal.AfterChanges(err)
		}
		if err != nil {
			return seen, judgement{}, err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == next })
	}
	seen, err := r.Cluster.FindOutOfBand(ctx)
	if err != nil {
		return seen, judgement{}, refusal.AfterChanges(err)
	}
	left, err := r.Engine.Judge(ctx, seen, w.Targets)
	return seen, left, refusal.AfterChanges(err)
}

// replaceNext replaces the control plane whose turn it is, and returns its name.
func (r upRun) replaceNext(ctx context.Context, w work, seen outOfBand, names []string) (string, error) {
	next, err := r.Cluster.NextToReplace(ctx, names)
	if err != nil {
		return "", err
	}
	return next, r.replaceOne(ctx, w, seen, next)
}

// aloneInPhases refuses to replace control planes one after the other in a run of some phases.
func aloneInPhases(names []string) error {
	return refused(fmt.Errorf("%s would be replaced one after the other, each with all phases: run up without --until and --only, or give one of them with --only-node",
		strings.Join(names, ", ")))
}

// replaceOne runs the engine for one control plane. The consent of the whole run covers it.
func (r upRun) replaceOne(ctx context.Context, w work, seen outOfBand, name string) error {
	targets, err := r.Engine.Narrow(ctx, span.Span{Last: phase.Verify, Node: name})
	if err != nil {
		return err
	}
	judged, err := r.Engine.Judge(ctx, seen, targets)
	if err != nil {
		return err
	}
	if err := r.Cluster.KeepSnapshot(ctx, judged); err != nil {
		return err
	}
	if err := r.State.PrepareState(ctx, seen, judged); err != nil {
		return err
	}
	w.Name, w.Targets = w.Name+"-"+name, targets
	return r.runEngine(ctx, w, true)
}

// NextToReplace implements [upCluster]. A dead control plane comes first, since etcd takes no new member before the dead one is gone.
func (p platformRun) NextToReplace(ctx context.Context, names []string) (string, error) {
	health, err := p.etcd.health(ctx)
	if err != nil {
		return "", err
	}
	members, err := health.Members(ctx)
	if err != nil {
		return "", p.place.CompleteError(fmt.Errorf("no control plane is replaced while the members of etcd are not known (%w): see `em-infra status`, mend that, then run `em-infra up` again", err))
	}
	next := slices.MinFunc(names, func(a, b string) int {
		return cmp.Compare(urgency(members, p.own.bornAs(a)), urgency(members, p.own.bornAs(b)))
	})
	p.engine.stack.Workspace().SetEnvVar(removal.StayVariable, controlPlanesThatStay(p.inventory, func(name string) string {
		if name != next && slices.Contains(names, name) {
			return p.own.bornAs(name) // its turn comes later
		}
		return name
	}))
	p.engine.emit(Progress{Part: phase.Provision.String(), What: fmt.Sprintf("makes the machine of %s, alone; control planes that follow: %d", next, len(names)-1)})
	return next, nil
}

// urgency orders the replacement of control planes: first the dead ones, then those that are no members, for which the others wait, then the rest.
func urgency(members []nodeops.EtcdMember, name string) int {
	at := slices.IndexFunc(members, func(m nodeops.EtcdMember) bool { return m.Name == name })
	switch {
	case at < 0:
		return 1
	case members[at].Problem != "":
		return 0
	default:
		return 2
	}
}
