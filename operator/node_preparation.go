package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// expulsionPatience is how long the Kubernetes API of a control plane that stays may take to answer.
const expulsionPatience = time.Minute

// PrepareNodes implements [upCluster].
func (s *session) PrepareNodes(ctx context.Context, judged judgement) error {
	if s.inventory == nil || len(judged.Findings) == 0 { // hosts and systems are no nodes
		return nil
	}
	if err := s.makeRoom(ctx); err != nil {
		return err
	}
	return s.expelDead(ctx, judged)
}

// makeRoom has nodes register whose Node was deleted by hand, and uncordons those that an ended run has drained: while one is missing or
// takes no pods, the drain of another may wait for room on it.
func (s *session) makeRoom(ctx context.Context) error {
	sources, err := s.sources().ofCluster(ctx)
	if err != nil || len(sources.Talosconfig) == 0 {
		return err
	}
	restarted, err := sources.Health().RegisterAgain(ctx)
	for _, name := range restarted {
		s.emit(Note{Text: name + " has no Node in Kubernetes: its kubelet is restarted, which registers it again"})
	}
	if err != nil && ctx.Err() == nil {
		s.emit(Note{Text: err.Error()}) // the verification at the end tries again, and fails if it has to
		return nil
	}
	if err != nil {
		return err
	}
	return s.uncordonReturning(ctx, sources.Talosconfig)
}

// uncordonReturning uncordons the nodes that an interrupted run has left cordoned, except for those whose removal may go on. The lane does the
// same before a drain, but the removal of a node waits for no lane.
func (s *session) uncordonReturning(ctx context.Context, talosconfig []byte) error {
	api, err := nodeops.ReachKubernetes(ctx, talosconfig)
	if err != nil {
		return ctx.Err() // this run may be what starts its control planes, and its end uncordons
	}
	defer api.Close()
	names, err := api.Uncordon(ctx, func() []string { return nil })
	s.tellUncordoned(names)
	if err != nil && ctx.Err() == nil {
		s.emit(Note{Text: fmt.Sprintf("%v; the end of this run tries again", err)})
		return nil
	}
	return err
}

// tellUncordoned says which nodes take pods again.
func (o *Operator) tellUncordoned(names []string) {
	for _, name := range names {
		o.recovered(name + " takes pods again: a run that was interrupted had cordoned it")
	}
}

// expelDead removes the members of control planes that leave and are dead.
func (s *session) expelDead(ctx context.Context, judged judgement) error {
	leave := judged.LostControlPlanes()
	if len(leave) == 0 || judged.Recovers != "" || len(judged.Lost) > 0 { // etcd is restored, or begins anew
		return nil
	}
	health, err := s.etcd().health(ctx)
	if err != nil {
		return err
	}
	leaving := removal.ControlPlane{
		Node:   removal.Node{Talosconfig: health.Talosconfig, Progress: notes{s.Operator}},
		Limits: removal.Limits{Answer: expulsionPatience},
	}
	for _, name := range leave {
		leaving.Leave = append(leaving.Leave, s.own.bornAs(name))
	}
	for _, node := range s.inventory.Nodes.ControlPlanes() {
		leaving.Stay = append(leaving.Stay, rolling.Node{Name: node.Name, Address: node.Address, ControlPlane: true})
	}
	err = leaving.ExpelDead(ctx)
	if err != nil && ctx.Err() == nil {
		s.emit(Note{Text: fmt.Sprintf("a control plane that leaves is dead, and its member is still in etcd: %v; its removal at the end of the run tries again", err)})
		return nil
	}
	return err
}

// notes emits each line as a note.
type notes struct{ *Operator }

func (n notes) Write(line []byte) (int, error) {
	n.emit(Note{Text: strings.TrimSpace(string(line))})
	return len(line), nil
}
