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

// nodePreparation prepares the nodes of a cluster for their changes.
type nodePreparation struct {
	*Operator

	sources stackSources
	etcd    clusterEtcd
	own     *ownResources
}

// makeRoom makes nodes whose Node was deleted by hand register again, and uncordons nodes that an ended run has drained. While a node is missing or
// takes no pods, the drain of another one may wait for room on it.
func (n nodePreparation) makeRoom(ctx context.Context) error {
	sources, err := n.sources.ofCluster(ctx)
	if err != nil || len(sources.Talosconfig) == 0 {
		return err
	}
	restarted, err := sources.Health().RegisterAgain(ctx)
	for _, name := range restarted {
		n.emit(Note{Text: name + " has no Node in Kubernetes: its kubelet is restarted, which registers it again"})
	}
	if err != nil && ctx.Err() == nil {
		n.emit(Note{Text: err.Error()}) // the verification at the end tries again, and fails if it has to
		return nil
	}
	if err != nil {
		return err
	}
	return n.uncordonReturning(ctx, sources.Talosconfig)
}

// uncordonReturning uncordons the nodes that an interrupted run has left cordoned, except for those whose removal may go on. The lane does the
// same before a drain, but the removal of a node waits for no lane.
func (n nodePreparation) uncordonReturning(ctx context.Context, talosconfig []byte) error {
	api, err := nodeops.ReachKubernetes(ctx, talosconfig)
	if err != nil {
		return ctx.Err() // this run may be what starts its control planes, and its end uncordons
	}
	defer api.Close()
	names, err := api.Uncordon(ctx, func() []string { return nil })
	n.tellUncordoned(names)
	if err != nil && ctx.Err() == nil {
		n.emit(Note{Text: fmt.Sprintf("%v; the end of this run tries again", err)})
		return nil
	}
	return err
}

// tellUncordoned reports which nodes take pods again.
func (o *Operator) tellUncordoned(names []string) {
	for _, name := range names {
		o.recovered(name + " takes pods again: a run that was interrupted had cordoned it")
	}
}

// expelDead removes the etcd members of control planes that leave the cluster and are dead.
func (n nodePreparation) expelDead(ctx context.Context, judged judgement) error {
	leave := judged.LostControlPlanes()
	if len(leave) == 0 || judged.Recovers != "" || len(judged.Lost) > 0 { // etcd is restored, or begins anew
		return nil
	}
	health, err := n.etcd.health(ctx)
	if err != nil {
		return err
	}
	leaving := removal.ControlPlane{
		Node:   removal.Node{Talosconfig: health.Talosconfig, Progress: notes{n.Operator}},
		Limits: removal.Limits{Answer: expulsionPatience},
	}
	for _, name := range leave {
		leaving.Leave = append(leaving.Leave, n.own.bornAs(name))
	}
	for _, node := range n.sources.inventory.Nodes.ControlPlanes() {
		leaving.Stay = append(leaving.Stay, rolling.Node{Name: node.Name, Address: node.Address, ControlPlane: true})
	}
	err = leaving.ExpelDead(ctx)
	if err != nil && ctx.Err() == nil {
		n.emit(Note{Text: fmt.Sprintf("a control plane that leaves is dead, and its member is still in etcd: %v; its removal at the end of the run tries again", err)})
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
